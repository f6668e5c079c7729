"""Generates weft.v1 and weft.emulator.v1 from the repository's proto files when the package is built."""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from subprocess import run
from sys import executable

from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = Path(__file__).resolve().parent.parent


class Generate(build_py):
    """Copies the package's own files, and adds the generated ones with their types."""

    def run(self) -> None:
        super().run()
        out = Path(self.build_lib)
        sources = sorted(path.relative_to(PROTO) for path in PROTO.glob("weft/**/v1/*.proto"))
        if not sources:
            raise SystemExit(f"no proto files in {PROTO}: build the package inside the repository")
        folders = {folder for source in sources for folder in source.parents if len(folder.parts) > 1}
        for folder in sorted(folders):
            (out / folder).mkdir(parents=True, exist_ok=True)
            (out / folder / "__init__.py").write_text('"""The API, generated."""\n')
        includes = [f"-I{PROTO}", f"-I{files('grpc_tools').joinpath('_proto')}"]
        kinds = ["python", "grpc_python", "mypy", "mypy_grpc"]
        outputs = [f"--{kind}_out={out}" for kind in kinds]
        command = [executable, "-m", "grpc_tools.protoc", *includes, *outputs]
        run([*command, *map(str, sources)], check=True)


# Generated code needs libraries that are no older than what generated it.
setup(
    cmdclass={"build_py": Generate},
    install_requires=[
        f"grpcio>={version('grpcio-tools')}",
        f"protobuf>={version('protobuf')}",
    ],
)
