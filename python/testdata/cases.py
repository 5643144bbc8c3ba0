"""What the scripts of this folder share: they write posteriors with psafe_export into the folder that
they are given, which export_test.go reads with psafe."""
import contextlib
import io
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import psafe_export as px  # noqa: E402

FOLDER = sys.argv[1]
rng = np.random.RandomState(3)


def path(name):
    return os.path.join(FOLDER, name + ".npz")


def header(name):
    with np.load(path(name)) as f:
        return json.loads(bytes(f["__meta__"]))


def arrays(name):
    with np.load(path(name)) as f:
        return {k: f[k] for k in f.files if k != "__meta__"}


def refuses(words, function, *args, **kw):
    """function raises a ValueError of one line that has all words, and writes nothing."""
    before = set(os.listdir(FOLDER))
    try:
        function(path("refused"), *args, **kw)
    except ValueError as e:
        text = str(e)
        if "\n" in text or not all(w in text for w in words):
            raise AssertionError("the message %r lacks one of %s" % (text, words))
    else:
        raise AssertionError("not refused: want a message with %s" % (words,))
    assert set(os.listdir(FOLDER)) == before, os.listdir(FOLDER)


def notes(function, *args, **kw):
    """What function prints on standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as err:
        function(*args, **kw)
    return err.getvalue()


def moments(name, x, drawn):
    """Keeps the means and the variances of what a framework draws for one input, (draws, outputs), beside the file of that name."""
    drawn = np.asarray(drawn, np.float64)
    rows = [np.ravel(x), [len(drawn)], drawn.mean(0), drawn.var(0, ddof=1)]
    with open(os.path.join(FOLDER, name + ".moments"), "w") as f:
        json.dump([np.asarray(r, np.float64).tolist() for r in rows], f)
