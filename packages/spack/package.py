# A recipe for Spack. Put this folder's file into a repository of yours as packages/serried/package.py, then build the sources
# that lie beside it:  spack dev-build -d PATH/TO/SERRIED serried@main
from spack.package import *


class Serried(MakefilePackage):
    """MPI for one machine in Rust, with the ABIs of MPI-5, MPICH and Open MPI."""

    license("Apache-2.0 OR MIT")

    version("main")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("gmake", type="build")
    depends_on("gawk", type="build")

    executables = ["^serried$"]

    @classmethod
    def determine_version(cls, exe):
        return Executable(exe)("version", output=str).split()[-1]

    def build(self, spec, prefix):
        make("all")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")

    def setup_run_environment(self, env):
        self._name_compilers(env)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self._name_compilers(env)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")
        self.spec.mpifc = join_path(self.prefix.bin, "mpifort")

    def _name_compilers(self, env):
        env.set("MPICC", join_path(self.prefix.bin, "mpicc"))
        env.set("MPICXX", join_path(self.prefix.bin, "mpicxx"))
        env.set("MPIF90", join_path(self.prefix.bin, "mpifort"))

    @property
    def libs(self):
        return find_libraries(["libmpi_abi"], root=self.prefix, shared=True, recursive=True)

    @property
    def headers(self):
        return find_headers("mpi", self.prefix.include)
