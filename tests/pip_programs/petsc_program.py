"""petsc4py on a PETSc of PyPI: a line of springs, of which each rank has a part, solved by conjugate gradients."""
from petsc4py import PETSc

matrix = PETSc.Mat().createAIJ(100, nnz=(3, 1), comm=PETSc.COMM_WORLD)
for row in range(*matrix.getOwnershipRange()):
    for column, value in ((row - 1, -1), (row, 2), (row + 1, -1)):
        if 0 <= column < 100:
            matrix[row, column] = value
matrix.assemble()
x, b = matrix.createVecs()
b.set(1)
solver = PETSc.KSP().create(PETSc.COMM_WORLD)
solver.setOperators(matrix)
solver.setType("cg")
solver.setTolerances(rtol=1e-10)
solver.getPC().setType("jacobi")
solver.solve(b, x)
# In the middle, row k: k (101 - k) / 2.
print("result", round(x.max()[1], 3), matrix.comm.size, solver.reason > 0)
