"""Certifies Bayesian neural networks from Python, by the program psafe that the wheel brings along.

    import psafe
    result = psafe.certify(model, x_test[:20], eps=0.01, clip=(0, 1))
    result                       # a table in a notebook
    result.frame(), result.plot(), result.report("page.html"), result.check()

The save_ functions of psafe_export are here too: psafe.save_torch, psafe.save_laplace, and so on.

SPDX-License-Identifier: Apache-2.0
"""
import decimal
import fractions
import html
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

from . import psafe_export

__all__ = ["certify", "Result", "Figure", "COLUMNS", "find_program", "psafe_export", "__version__"]
for _name in [n for n in vars(psafe_export) if n.startswith("save_") or n in ("dense", "split", "features")]:
    globals()[_name] = getattr(psafe_export, _name)
    __all__.append(_name)

try:
    __version__: str = importlib.metadata.version("psafe")
except importlib.metadata.PackageNotFoundError:  # a source tree
    __version__ = "0+unknown"

Record = Dict[str, Any]
Progress = Union[None, bool, Callable[[int, int], None]]

COLUMNS = ("index", "label", "property", "eps", "verdict", "p_lower", "p_upper", "method", "stopped", "seconds")


def find_program() -> str:
    """The path of psafe: the environment's PSAFE, the one that came with this module, or the one on the path."""
    if not os.environ.get("PSAFE"):
        try:
            for f in importlib.metadata.files("psafe") or []:
                if f.name in ("psafe", "psafe.exe") and os.access(str(f.locate()), os.X_OK):
                    return os.path.abspath(str(f.locate()))
        except importlib.metadata.PackageNotFoundError:
            pass
    return str(psafe_export._program())


class Figure:
    """A figure of psafe plot. A notebook shows it; svg is its text, or None, and png its bytes, or None."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as f:
            content = f.read()
        self.png: Optional[bytes] = content if content.startswith(b"\x89PNG") else None
        self.svg: Optional[str] = None if self.png else content.decode("utf-8")

    def _repr_svg_(self) -> Optional[str]:
        return self.svg

    def _repr_png_(self) -> Optional[bytes]:
        return self.png


class Result(Sequence[Record]):
    """The records of one run of psafe certify, as dicts, in their order.

    records    all fields of each record (docs/reference.md of psafe)
    notes      what psafe said, in lines
    folder     where net.npz, points.npy and results.jsonl are: as long as this result unless certify() was
               given folder=
    posterior  the path of the posterior's file"""

    def __init__(self, records: List[Record], notes: str, folder: str, posterior: str, psafe: str,
                 temporary: "Optional[tempfile.TemporaryDirectory[str]]" = None, points: Optional[str] = None) -> None:
        self.records, self.notes, self.folder, self.posterior = records, notes, folder, posterior
        self._psafe, self._temporary, self._points = psafe, temporary, points

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, i: Any) -> Any:
        return self.records[i]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def rows(self) -> List[Dict[str, Any]]:
        """COLUMNS of each record, None where it has no such field. eps is the float64 next to the radius, None
        if the radius is not one number; the record has its text."""
        return [dict({name: r.get(name) for name in COLUMNS}, eps=_number(r.get("eps"))) for r in self.records]

    def frame(self) -> Any:
        """rows() as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(self.rows(), columns=list(COLUMNS)).astype({"eps": float})

    def plot(self, kind: Optional[str] = None, out: Optional[str] = None, **flags: Any) -> Figure:
        """psafe plot KIND of the records, by default eps if there are several radii, else a histogram. flags are
        those of psafe plot, with _ for -. out names a file .svg or .png to keep, which is replaced."""
        if kind is None:
            kind = "eps" if len({r.get("eps") for r in self.records}) > 1 else "histogram"
        path = out or os.path.join(self.folder, "figure.svg")
        self._run("plot", [kind], dict({"points": self._points} if kind == "heatmap" else {}, **flags), path)
        return Figure(path)

    def report(self, out: Optional[str] = None, **flags: Any) -> str:
        """Writes the page of psafe report and returns its path: out, which is replaced, or report.html in the
        folder."""
        path = out or os.path.join(self.folder, "report.html")
        self._run("report", [], dict({"points": self._points}, **flags), path)
        return path

    def check(self) -> str:
        """Proves all bounds again with psafe check, and returns what it said. A ValueError if a record does not
        pass."""
        return self._run("check", [], {"posterior": self.posterior, "inputs": self._points, "quiet": True}, None)

    def _run(self, command: str, words: List[str], flags: Dict[str, Any], out: Optional[str]) -> str:
        args = [self._psafe, command] + words + [os.path.join(self.folder, "results.jsonl")]
        if out is not None:
            args += ["--out", out, "--overwrite"]
        for name, value in flags.items():
            if value is not None and value is not False:
                args += ["--" + name.replace("_", "-")] + ([] if value is True else [psafe_export._flag(value)])
        run = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = (run.stdout + run.stderr).decode("utf-8", "replace").strip()
        if run.returncode != 0:
            raise ValueError(said or "psafe %s ended with status %d" % (command, run.returncode))
        return said

    def __repr__(self) -> str:
        counts = [(v, sum(r.get("verdict") == v for r in self.records)) for v in ("safe", "unsafe", "unknown")]
        of = sorted({r["features_of"] for r in self.records if "features_of" in r})
        return "<psafe.Result: %d records, %s%s>" % (len(self), ", ".join("%d %s" % (n, v) for v, n in counts),
                                                     "; T is of features of " + " and ".join(of) + ", not of inputs" if of else "")

    def _repr_html_(self) -> str:
        rows = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(_shown(name, row[name])) for name in COLUMNS)
                       for row in self.rows()[:1000])
        more = "<p>%d more</p>" % (len(self) - 1000) if len(self) > 1000 else ""
        head = "".join("<th>%s</th>" % name for name in COLUMNS)
        return "<p>%s</p><table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (
            html.escape(repr(self)[1:-1]), head, rows, more)


def _number(text: Any) -> Optional[float]:
    """The float64 next to a radius as psafe has it, 0.01 or 8/255."""
    try:
        return float(fractions.Fraction(str(text)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _shown(name: str, value: Any) -> str:
    """A cell of the table: p_lower rounded down and p_upper up, to four decimals, so that both stay bounds."""
    if value is None:
        return ""
    if name in ("p_lower", "p_upper"):
        rounding = decimal.ROUND_FLOOR if name == "p_lower" else decimal.ROUND_CEILING
        return str(decimal.Decimal(value).quantize(decimal.Decimal("0.0001"), rounding))
    return "%.6g" % value if isinstance(value, float) else str(value)


def certify(net: Any, points: Any = None, eps: Any = None, *, label: Any = None, clip: Any = None, property: Any = None,
            method: Optional[str] = None, draws: Optional[int] = None, require: Any = None,
            folder: Union[None, str, "os.PathLike[str]"] = None, program: Optional[str] = None,
            progress: Progress = None, **flags: Any) -> Result:
    """Runs psafe certify.

    net       the path of a posterior that psafe reads, or a torch module, which save_torch saves
    points    (N, ...): raw inputs, in the units of the data: numbers, never bytes that stand for b/255. None, and no eps,
              with a property file that has boxes
    eps       radius of T in each coordinate: a number, or a list of radii
    label     a class for all points, or an array of one for each
    flags     of psafe certify, with _ for -: target="decision", options={"cells": 50}. Of a torch module also
              names=, layers=, spread=, predict= and logits= of save_torch
    folder    keeps net.npz, points.npy and results.jsonl, and replaces them; without it they go with the result
    program   psafe, if not find_program()
    progress  called with (done, total); True is a bar of tqdm, False none; by default a bar where tqdm is there
              and a notebook or a terminal shows it

    A ValueError has psafe's error line."""
    psafe = program or find_program()
    temporary = tempfile.TemporaryDirectory(prefix="psafe-") if folder is None else None
    where = temporary.name if temporary else os.path.abspath(os.fspath(folder or ""))
    flags = dict({"label": label, "clip": clip, "property": property, "method": method, "draws": draws, "require": require}, **flags)
    told, close = _bar(progress)
    try:
        records, notes, posterior = psafe_export._certified(net, points, eps, where, psafe, told, flags)
    finally:
        close()
    if notes:
        print(notes, file=sys.stderr)
    return Result(records, notes, where, os.path.abspath(posterior), psafe, temporary,
                  None if points is None else os.path.join(where, "points.npy"))


def _bar(progress: Progress) -> "tuple[Optional[Callable[[int, int], None]], Callable[[], None]]":
    """What is called with (done, total), or None, and what ends it."""
    if callable(progress):
        return progress, lambda: None
    if progress is None and not ("ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()):
        progress = False
    if progress is not False:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if progress:
                raise ValueError("progress=True needs tqdm, or give a function of (done, total)") from None
        else:
            bar = tqdm(total=0, unit="input")

            def told(done: int, total: int) -> None:
                bar.total, bar.n = total, done
                bar.refresh()

            return told, bar.close
    return None, lambda: None
