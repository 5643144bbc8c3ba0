"""The module psafe with the real program: what certify() returns, and what its result does. The arguments are a
folder to write into and a folder with a posterior; without a third one, the program is the wheel's own."""
import os
import sys

import numpy as np

import psafe

folder, testdata = sys.argv[1], sys.argv[2]
if len(sys.argv) > 3:
    os.environ["PSAFE"] = sys.argv[3]
else:
    os.environ.pop("PSAFE", None)
    os.environ["PATH"] = ""  # nothing else on the path is taken
    assert os.path.realpath(psafe.find_program()).startswith(os.path.realpath(sys.prefix)), psafe.find_program()
    assert psafe.__version__[0].isdigit() and psafe.__version__ != "0+unknown", psafe.__version__
net, points = os.path.join(testdata, "dropout-2-8-3.npz"), np.array([[0.8, 0.2], [0.2, 0.6]])

told = []
r = psafe.certify(net, points, eps=["1/100", 0.25], device="cpu", progress=lambda done, total: told.append((done, total)))
assert told[0] == (0, 4) and told[-1] == (4, 4), told
assert len(r) == 4 and [x["index"] for x in r] == [0, 1, 0, 1] and r[0] is r.records[0] and r[0]["proof"]
rows = r.rows()
assert len(psafe.COLUMNS) == 10 and all(tuple(x) == psafe.COLUMNS for x in rows)
assert sorted({x["eps"] for x in rows}) == [0.01, 0.25] and rows[0]["p_lower"] == r[0]["p_lower"], rows
assert "4 records" in repr(r) and "safe" in r.notes
page = r._repr_html_()
assert page.count("<tr>") == 5 and "<td>%s</td>" % r[0]["verdict"] in page
kept = r.folder
assert os.path.exists(os.path.join(kept, "points.npy"))
assert "<svg" in r.plot()._repr_svg_() and r.plot("histogram", out=os.path.join(folder, "h.png"))._repr_png_()[1:4] == b"PNG"
with open(r.report(os.path.join(folder, "r.html")), encoding="utf-8") as f:
    assert "<html" in f.read()
said = r.check()
assert "4" in said, said
lines = open(os.path.join(kept, "results.jsonl")).read()
with open(os.path.join(kept, "results.jsonl"), "w") as f:
    f.write(lines.replace('"p_lower":0.9', '"p_lower":0.99'))
try:
    r.check()
except ValueError as e:
    assert "checksum" in str(e), e
else:
    raise AssertionError("a damaged file passes")
del r
assert not os.path.exists(kept)

r = psafe.certify(net, points, eps=0.01, folder=os.path.join(folder, "kept"), label=[2, 0], require=0.5, device="cpu", progress=False)
assert [x["require"] for x in r] == [0.5, 0.5] and os.path.exists(os.path.join(folder, "kept", "results.jsonl"))
try:
    psafe.certify(net, points, eps=-1, device="cpu")
except ValueError as e:
    assert "--eps" in str(e) and "\n" not in str(e), e
else:
    raise AssertionError("eps of -1")

# A head on frozen features: T is of features, in the record, the note and the report.
A, W = np.array([[1.0, 0, 1], [0, 1, -1]]), np.array([[1.0, -1], [-1, 1], [0.5, -0.5]])
head, hulls = os.path.join(folder, "head.npz"), os.path.join(folder, "hulls.json")
found = psafe.save_head(head, lambda x: np.tanh(x @ A), [psafe.dense(W, None, 0 * W + 0.1, layout="in,out", scale="sd")], points, of="a <backbone>",
                        save=psafe.save_gaussian, predict=lambda x: x @ W, spread=[(0.1, None)])
psafe.save_hulls(hulls, np.stack([found, found + 0.01], 1), (found @ W).argmax(1))
for r in (psafe.certify(head, found, eps=0.01, device="cpu"), psafe.certify(head, property=hulls, device="cpu")):
    assert len(r) == 2 and all(x["features_of"] == "a <backbone>" for x in r), r.records
    assert "T is a set of features of a <backbone>, and says nothing of inputs" in r.notes, r.notes
    assert "features of a <backbone>" in r._repr_html_().replace("&lt;", "<").replace("&gt;", ">")
    with open(r.report(os.path.join(folder, "r.html")), encoding="utf-8") as f:
        assert f.read().count("features of a &lt;backbone&gt;") > 2
    r.check()

# What a table shows of a bound is a bound.
for i in range(2000):
    p = np.float64(i * 0.0005).item()
    for q in (p, float(np.nextafter(p, -1)) if p else 0.0, min(float(np.nextafter(p, 2)), 1.0)):
        lower, upper = psafe.psafe_export.json.loads("[%s, %s]" % (psafe._shown("p_lower", q), psafe._shown("p_upper", q)))
        from fractions import Fraction
        assert Fraction(psafe._shown("p_lower", q)) <= Fraction(q) <= Fraction(psafe._shown("p_upper", q)), q
        assert upper - lower < 0.000101
assert psafe._number("8/255") == 8 / 255 and psafe._number("[0.1,0.2]") is None and psafe._number(None) is None
try:
    import pandas
except ImportError:
    pass
else:
    assert list(r.frame().columns) == list(psafe.COLUMNS) and r.frame()["eps"].dtype == float
print("module cases: done")
