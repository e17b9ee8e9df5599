"""The package of Debian: beside Debian's own Open MPI, in a root of its own, with dpkg and its alternatives."""

import os
import shutil
import sys

import pytest
from support import jobs, run

INSIDE = f"usr/lib/{os.uname().machine}-linux-gnu/serried"
# A package that has what Debian's Open MPI has of the same names, as its maintainers write it.
OTHER = {
    "control": "Package: other-mpi\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: another MPI\n",
    "postinst": """#!/bin/sh
set -e
update-alternatives --install /usr/bin/mpirun mpirun /usr/bin/mpirun.other 50 --slave /usr/bin/mpiexec mpiexec /usr/bin/mpiexec.other
update-alternatives --install /usr/bin/mpicc mpi /usr/bin/mpicc.other 50 --slave /usr/bin/mpicxx mpicxx /usr/bin/mpicxx.other
""",
}


class Root:
    """A root in which dpkg installs; only root may do so."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/alternatives", "etc/alternatives", "var/log", "usr/bin"):
            (folder / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()

    def dpkg(self, *words):
        return run("dpkg", f"--root={self.folder}", "--force-script-chrootless", "--force-depends", *words)

    def choose(self, group, path):
        run("update-alternatives", "--root", self.folder, "--set", group, path)

    def leads_to(self, name):
        """Where a name in /usr/bin leads, as a path in this root."""
        path = f"/usr/bin/{name}"
        while (self.folder / path.lstrip("/")).is_symlink():
            target = os.readlink(self.folder / path.lstrip("/"))
            path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        return path


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if not shutil.which("dpkg-deb") or os.geteuid() != 0:
        pytest.skip("needs dpkg and the right to install packages in a folder")
    folder = tmp_path_factory.mktemp("deb")
    run(sys.executable, "scripts/deb", "--tree", jobs.STAGE, "--to", folder, cwd=jobs.ROOT)
    return next(folder.glob("serried_*.deb"))


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path / "root")


def another(folder):
    made = folder / "other"
    (made / "DEBIAN").mkdir(parents=True)
    (made / "usr/bin").mkdir(parents=True)
    for name, text in OTHER.items():
        (made / "DEBIAN" / name).write_text(text)
        (made / "DEBIAN" / name).chmod(0o755)
    for name in ("mpirun", "mpiexec", "mpicc", "mpicxx"):
        (made / f"usr/bin/{name}.other").write_text("#!/bin/sh\n")
    run("dpkg-deb", "--root-owner-group", "--build", made, folder / "other.deb")
    return folder / "other.deb"


def test_alone_it_gives_the_common_names(package, root):
    root.dpkg("-i", package)
    assert root.leads_to("mpirun") == root.leads_to("mpiexec") == root.leads_to("serried") == f"/{INSIDE}/bin/serried"
    assert root.leads_to("mpicc") == f"/{INSIDE}/bin/mpicc" and root.leads_to("mpicxx") == f"/{INSIDE}/bin/mpicxx"
    assert run(root.folder / INSIDE / "bin/serried", "version").startswith("serried ")


def test_beside_another_mpi_that_stays_in_place_until_somebody_chooses(package, root, tmp_path):
    root.dpkg("-i", another(tmp_path), package)
    assert root.leads_to("mpirun") == "/usr/bin/mpirun.other" and root.leads_to("mpicc") == "/usr/bin/mpicc.other"
    root.choose("mpirun", "/usr/bin/mpirun.serried")
    assert root.leads_to("mpiexec") == f"/{INSIDE}/bin/serried" and root.leads_to("mpicc") == "/usr/bin/mpicc.other"
    root.dpkg("--remove", "serried")
    assert root.leads_to("mpiexec") == "/usr/bin/mpiexec.other"
    left = [path for path in root.folder.rglob("*") if "serried" in path.name and "dpkg" not in str(path)]
    assert left == []


def test_a_program_is_compiled_and_run_from_where_the_package_puts_it(package, root, tmp_path):
    root.dpkg("-i", package)
    (tmp_path / "hello.c").write_text("#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n")
    run(root.folder / "usr/bin/mpicc.serried", tmp_path / "hello.c", "-o", tmp_path / "hello")
    run(root.folder / "usr/bin/mpirun.serried", "-n", 2, tmp_path / "hello")
