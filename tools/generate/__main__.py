"""`python -m tools.generate` writes every generated file."""

from tools.generate import FILES

for path, render in FILES.items():
    path.write_text(render(), "utf-8")
