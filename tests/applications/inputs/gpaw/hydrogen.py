from ase import Atoms
from gpaw import GPAW, PW
atoms = Atoms("H2", positions=[(0,0,0),(0,0,0.74)], cell=[5,5,5], pbc=False); atoms.center()
atoms.calc = GPAW(mode="fd", h=0.25, txt="out.txt", convergence={"energy":1e-6})
e = atoms.get_potential_energy()
from gpaw.mpi import world
if world.rank == 0: print(f"energy {e:.6f}")
