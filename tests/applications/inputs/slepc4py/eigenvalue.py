"""The smallest eigenvalues of the Laplacian of a line, by SLEPc over PETSc."""
import slepc4py, sys
slepc4py.init(sys.argv)
from petsc4py import PETSc
from slepc4py import SLEPc
n = 300
a = PETSc.Mat().createAIJ([n, n], nnz=3); a.setUp()
first, last = a.getOwnershipRange()
for i in range(first, last):
    a[i, i] = 2
    if i: a[i, i-1] = -1
    if i < n-1: a[i, i+1] = -1
a.assemble()
e = SLEPc.EPS().create(); e.setOperators(a); e.setProblemType(SLEPc.EPS.ProblemType.HEP)
e.setWhichEigenpairs(SLEPc.EPS.Which.LARGEST_REAL); e.setDimensions(3); e.setTolerances(1e-12, 10000); e.solve()
if PETSc.COMM_WORLD.rank == 0: print("result", f"{e.getEigenvalue(0).real:.10f}")
