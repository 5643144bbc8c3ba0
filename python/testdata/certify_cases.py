"""certify(): what it gives to psafe, and what it makes of the answer. With a second argument, the real
psafe."""
import json
import os
import stat
import sys

from cases import FOLDER, np, path, px

W = np.array([[1.0, -1], [-1, 1]])
points = np.array([[0.8, 0.2], [0.2, 0.6], [0.5, 0.4]])
sd = np.full((2, 2), 0.1)
px.save_gaussian(path("net"), [px.dense(W, None, sd, activation="relu", layout="in,out", scale="sd"),
                               px.dense(np.eye(2), None, sd, layout="in,out", scale="sd")],
                 inputs=points, predict=lambda x: np.maximum(x @ W, 0), spread=[(0.1, None), (0.1, None)])


def fails(words, *args, **kw):
    try:
        px.certify(*args, **kw)
    except ValueError as e:
        assert words in str(e) and "\n" not in str(e), e
    else:
        raise AssertionError("no error: " + words)


if len(sys.argv) > 2:
    program = sys.argv[2]
    got = px.certify(path("net"), points, eps=0.1, program=program, frame=False, label=[0, 1, 0], device="cpu")
    assert [r["label"] for r in got] == [0, 1, 0] and got[0]["p_lower"] > 0.99 and got[0]["eps"] == "0.1", got
    assert len(px.certify(path("net"), points, eps=[0.1, 0.05], program=program, frame=False, folder=os.path.join(FOLDER, "kept"), draws=20)) == 6
    assert os.path.exists(os.path.join(FOLDER, "kept", "results.jsonl"))
    fails("--eps", path("net"), points, eps=-1, program=program)
    fails("has no flag --epsilon", path("net"), points, eps=0.1, program=program, epsilon=3)
else:
    # A psafe that writes down what it is asked.
    program = os.path.join(FOLDER, "psafe")
    with open(program, "w") as f:
        f.write("""#!%s
import json, os, sys
a = sys.argv[1:]
if "--fail" in a:
    sys.stderr.write("psafe: note: one\\npsafe: --fail: it was asked\\n")
    sys.exit(2)
out = a[a.index("--out") + 1]
with open(out, "w") as f:
    for k in range(2):
        f.write(json.dumps({"index": k, "asked": a, "proof": {"tau": [1]}}) + "\\n")
sys.exit(10 if "--fail-unless" in a else 0)
""" % sys.executable)
    os.chmod(program, os.stat(program).st_mode | stat.S_IXUSR)
    got = px.certify(path("net"), points, eps=1 / 3, program=program, frame=False, clip=(0, 1), require=np.float64(0.95), strict=True,
                     draws=None, quiet=False, fail_unless="p_lower>=0.5", options={"cells": 3, "no_upper": True, "seed": None}, label=np.array([0, 1, 1]))
    asked = got[1]["asked"]
    where = os.path.dirname(asked[asked.index("--inputs") + 1])
    assert asked == ["certify", "--posterior", path("net"), "--inputs", where + "/points.npy", "--eps", repr(1 / 3), "--out", where + "/results.jsonl",
                     "--overwrite", "--progress", "none", "--clip", "0,1", "--require", "0.95", "--strict", "--fail-unless", "p_lower>=0.5", "--options", "cells=3,no-upper",
                     "--label", where + "/labels.npy"], asked
    assert not os.path.exists(where)
    kept = os.path.join(FOLDER, "kept")
    px.certify(path("net"), points, eps=[0.1, 0.2], program=program, folder=kept, frame=False)
    assert np.array_equal(np.load(os.path.join(kept, "points.npy")), points) and os.path.exists(os.path.join(kept, "results.jsonl"))
    fails("psafe: --fail: it was asked", path("net"), points, eps=0.1, program=program, fail=True)
    fails("there is no psafe", path("net"), points, eps=0.1, program="") if not os.environ.get("PSAFE") and not __import__("shutil").which("psafe") else None
    fails("or a torch module", 3, points, eps=0.1, program=program)
    class Module:
        named_parameters = list

    saved, really = [], px.save_torch
    px.save_torch = lambda path, net, **kw: saved.append(kw)
    px.certify(Module(), points, eps=0.1, program=program, frame=False, names=("w", "s", None, None, "sd"), spread={})
    px.save_torch = really
    assert saved[0]["names"][1] == "s" and saved[0]["spread"] == {} and saved[0].keys() == {"inputs", "names", "spread"}, saved
    fails("names= is for a torch module", path("net"), points, eps=0.1, program=program, names=("w", "s", None, None, "sd"))
    fails("has the type", path("net"), np.array(["a"]), eps=0.1, program=program)
    try:
        import pandas
    except ImportError:
        fails("needs pandas", path("net"), points, eps=0.1, program=program, frame=True)
    else:
        table = px.certify(path("net"), points, eps=0.1, program=program)
        assert isinstance(table, pandas.DataFrame) and list(table["index"]) == [0, 1] and "proof" not in table
print("certify cases: done")
