"""Solves -u'' = 1 on 100 points, spread over the ranks."""
from petsc4py import PETSc

matrix = PETSc.Mat().createAIJ((100, 100), nnz=3)
for row in range(*matrix.getOwnershipRange()):
    matrix.setValues(row, [c for c in (row - 1, row, row + 1) if 0 <= c < 100], [2.0 if c == row else -1.0 for c in (row - 1, row, row + 1) if 0 <= c < 100])
matrix.assemble()
x, b = matrix.createVecs()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.setTolerances(rtol=1e-12)
solver.solve(b, x)
largest = x.max()[1]
if PETSc.COMM_WORLD.rank == 0:
    print("result", round(largest, 6))
