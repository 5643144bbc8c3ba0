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


def plainly():
    """Beside each file NAME.npz writes NAME.plain: the same posterior with standard deviations, all
    biases and no reference, for a reader that knows nothing of the optional fields."""
    for name in sorted(n[:-4] for n in os.listdir(FOLDER) if n.endswith(".npz")):
        head, all_arrays = header(name), arrays(name)
        kept = {k: a for k, a in all_arrays.items() if k.startswith("layers.")}
        head.pop("input_shape", None)
        file_scale = head.get("scale")
        if head.get("kind", "gaussian") == "gaussian":
            head["scale"] = "sd"
        for k, entry in enumerate(head["layers"]):
            for part in ("weight", "bias"):
                mean, scale, word = ("layers.%d.%s.mean" % (k, part), "layers.%d.%s.scale" % (k, part),
                                     entry.pop(part + "_scale", file_scale))
                if entry.get("bias") is False and part == "bias":
                    kept[mean], word = np.zeros(entry["out"]), "none"
                if head.get("kind", "gaussian") == "gaussian":
                    kept[scale] = px.sd_of(kept[mean] if word == "none" else kept[scale], word)
            entry.pop("bias", None)
        kept["__meta__"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
        with open(os.path.join(FOLDER, name + ".plain"), "wb") as f:
            np.savez(f, **kept)
