"""The recipes for conda-forge and Spack, as far as that can be checked without their channels."""

import ast
import re

import pytest
from support import jobs

PACKAGES = jobs.ROOT / "packages"
VERSION = re.search(r'^version = "(.*)"', (jobs.ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
PINS = {"c_compiler": ["gcc"], "c_compiler_version": ["14"], "rust_compiler": ["rust"], "rust_compiler_version": ["1.89"],
        "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]}


def test_conda_s_builder_reads_the_recipe():
    rattler = pytest.importorskip("rattler_build", reason="no py-rattler-build in this venv")
    recipe = rattler.Stage0Recipe.from_yaml((PACKAGES / "conda/recipe.yaml").read_text())
    (one,) = recipe.render(rattler.VariantConfig(PINS))
    assert (str(one.recipe.package.name), str(one.recipe.package.version)) == ("serried", VERSION)


def test_what_the_recipes_call_is_there():
    makefile = (jobs.ROOT / "Makefile").read_text()
    assert re.search(r"^install: all", makefile, re.MULTILINE) and "PREFIX ?=" in makefile
    conda, spack = (PACKAGES / "conda/recipe.yaml").read_text(), (PACKAGES / "spack/package.py").read_text()
    assert "make install PREFIX=$PREFIX" in conda and 'make("install", f"PREFIX={prefix}")' in spack
    for name in re.findall(r"\$PREFIX/(\S+)", conda)[1:]:
        assert (jobs.STAGE / name).exists(), name


def test_spack_s_recipe_is_a_package_that_provides_mpi():
    (package,) = [node for node in ast.parse((PACKAGES / "spack/package.py").read_text()).body if isinstance(node, ast.ClassDef)]
    calls = {node.func.id: [ast.literal_eval(word) for word in node.args] for node in ast.walk(package)
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("provides", "version")}
    assert package.name == "Serried" and calls == {"provides": ["mpi@:5.0"], "version": ["main"]}
