package fields

// Table is all fields in the order of the file. After a change of it,
// go test ./host/record -run TestFieldPages -update writes the tables of docs/cli.md and docs/check.md.
var Table = []Field{
	{Name: "index", Type: "integer", Class: Question, Asked: true, Doc: "number of the point in the data file, or of the property in its file"},
	{Name: "name", Type: "string, omitted", Class: Question, Asked: true, Doc: "name of the property in a property file"},
	{Name: "label", Type: "integer or null", Class: Question, Asked: true, Doc: "the class the property speaks of"},
	{Name: "property", Type: "string", Class: Question, Asked: true, Doc: "the property in words; from a property file, its name or its number (`inputs_sha256` is the digest of that file). With " +
		"`keeps_class` or `--label` the class is filled in: `argmax_is:3`"},
	{Name: "eps", Type: "string, omitted", Class: Question, Asked: true, Digest: "eps_sha256", Doc: "`--eps` as typed: the decimal or the fraction, not a float64. For a list, the radius of this task"},
	{Name: "clip", Type: "strings, omitted", Class: Question, Asked: true, Digest: "clip_sha256", Doc: "`--clip` as typed"},
	{Name: "norm", Type: "string, omitted", Class: Question, Asked: true, Doc: "`--norm`, if T is a ball: `2` or `1`"},
	{Name: "input_scale", Type: "string, omitted", Class: Question, Asked: true, Doc: "`--input-scale` as typed"},
	{Name: "eps_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of the file that `eps` names"},
	{Name: "clip_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of the file that `clip` names"},
	{Name: "fix", Type: "string, omitted", Class: Question, Asked: true, Doc: "`--fix` as typed"},
	{Name: "free", Type: "string, omitted", Class: Question, Asked: true, Doc: "`--free` as typed"},
	{Name: "mean", Type: "string, omitted", Class: Question, Asked: true, Digest: "mean_sha256", Doc: "`--mean` as typed, or `posterior`: what the posterior's file says"},
	{Name: "mean_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of the file that `mean` names"},
	{Name: "std", Type: "string, omitted", Class: Question, Asked: true, Digest: "std_sha256", Doc: "the same of `--std`"},
	{Name: "std_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of the file that `std` names"},
	{Name: "channels", Type: "string, omitted", Class: Question, Asked: true, Doc: "`first` or `last`: the order into which images were brought"},
	{Name: "template", Type: "string, omitted", Class: Said, Doc: "property file with boxes relative to points, as typed"},
	{Name: "template_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of its content"},
	{Name: "template_entry", Type: "integer, omitted", Class: Question, Asked: true, Doc: "number of the property in the file that `template` names"},
	{Name: "flags", Type: "string", Class: Question, Asked: true, Doc: "the chosen method, and the given flags that decide the numbers and have no field of their own, [in the words of records](#methods). They come from `--method`, " +
		"`--boxes`, `--samples`, `--cells`, `--depth`, `--gamma`, `--splits`, `--uniform`, `--confidence`, `--no-upper`, `--derived`, `--target`, `--link`, `--costs`, `--reject`, `--action`, `--noise`, `--most`, `--step`, `--label-column`, in this order. Then come `--precision`, if `precision` may be that of the host (methods auto and neuronsum), and " +
		"`--time-limit`; for method auto also `--require`"},
	{Name: "radius_end", Type: "string, omitted", Class: Question, Asked: true, Doc: "of radii that were [looked for](#radius): `certified`, the largest `eps` at which what was wanted was certified, or `refuted`, the smallest at which it was refuted. `eps` is what came out then, and no part of `id`. Where nothing was certified it is 0, where nothing was refuted the largest that was looked at"},
	{Name: "method", Type: "string", Class: Compared, Doc: "the method that gave p_lower: `ibp`, `lbp`, `clbp`, `neuronsum`, `phases`, `chernoff` or `samples` (`--method finite`); or `statistical`, which gives none. With `auto`, the " +
		"best method, or the first one tried if nothing was proved"},
	{Name: "boxes", Type: "string, omitted", Class: Compared, Doc: "weight boxes: `centred` or `sampled` (`--boxes drawn`)"},
	{Name: "gamma", Type: "number or list, omitted", Class: Certificate, Doc: "weight boxes: half-width in standard deviations, a list by layer if layers differ; absent if no box verified"},
	{Name: "samples", Type: "integer, omitted", Class: Compared, Doc: "how many weight boxes were drawn, or how many networks a finite posterior has (1 if all deviations are 0)"},
	{Name: "boxes_tried", Type: "integer, omitted", Class: Said, Doc: "weight boxes propagated"},
	{Name: "safe_boxes", Type: "integer, omitted", Class: Compared, Doc: "verified weight boxes that p_lower counts or was chosen from"},
	{Name: "cells", Type: "integer, omitted", Class: Compared, Doc: "into how many cells T was cut; left out by phases if it was not"},
	{Name: "tau", Type: "number, omitted", Class: Compared, Doc: "clbp, phases, chernoff: the largest failure budget of a hidden bound that p_lower rests on"},
	{Name: "networks", Type: "integer, omitted", Class: Question, Asked: true, Doc: "the posterior is a finite set of so many networks, two or more, whatever the method: P_safe is a share of these and speaks of no other network"},
	{Name: "safe_samples", Type: "integer, omitted", Class: Proved, Doc: "a finite posterior: how many networks were proved safe"},
	{Name: "unsafe_samples", Type: "integer, omitted", Class: Proved, Doc: "a finite posterior: how many networks were proved unsafe"},
	{Name: "parent", Type: "object, omitted", Class: Compared, Doc: "`--method finite`, if the file says which posterior the networks are independent draws `of`: an interval for P_safe of that posterior, `lower` to `upper`, " +
		"with its `confidence` and a `statement` which says that it is no certificate"},
	{Name: "parent.of", Type: "string", Class: Compared},
	{Name: "parent.confidence", Type: "number", Class: Compared},
	{Name: "parent.lower", Type: "number", Class: Proved},
	{Name: "parent.upper", Type: "number", Class: Proved},
	{Name: "parent.statement", Type: "string", Class: Compared},
	{Name: "p_lower", Type: "number", Class: Proved, Doc: "at most P_safe, rounded down; 0 proves nothing"},
	{Name: "log10_p_lower", Type: "number or null", Class: Proved, Doc: "at most log10 P_safe, rounded down; null if nothing is proved; finite where p_lower underflows to 0"},
	{Name: "p_upper", Type: "number", Class: Proved, Doc: "at least P_safe, rounded up; 1 says nothing"},
	{Name: "derived", Type: "object, omitted", Class: Compared, Doc: "`--derived`: `inf_prob_lower` <= inf over x in T of Prob(f(x) in S) <= `inf_prob_upper`, and `inf_mean_lower` <= inf over x of E " +
		"row(x) for the worst row of S (null for a disjunction)"},
	{Name: "derived.inf_prob_lower", Type: "number", Class: Proved},
	{Name: "derived.inf_prob_upper", Type: "number", Class: Proved},
	{Name: "derived.inf_mean_lower", Type: "number or null", Class: Proved},
	{Name: "decision", Type: "object, omitted", Class: Compared, Doc: "`--target decision`: what the posterior predictive decides, for the class c of `label` ([decisions.md](decisions.md)). Its `verdict` is " +
		"`decision_safe` if `gap` > 0, `decision_unsafe` if `rival_gap` > 0, else `unknown`. For all x of T, and all classes k but c, `lower` <= pi_c(x), pi_k(x) <= `rival_upper` " +
		"and `gap` <= pi_c(x) - pi_k(x); `vote` is at most the share of networks that say c, at every x. `rival_gap` <= pi_k(x) - pi_c(x) at the witness, for the class `rival` of the proof. " +
		"With `--costs` or `--reject` there is the `action` that the verdict is about, `gap` <= what any other action costs more, for all x of T, and `rival_gap` <= what this one costs more than the action `rival` at the " +
		"witness, as shares of the greatest difference between two costs of a class"},
	{Name: "decision.verdict", Type: "string", Class: Compared},
	{Name: "decision.lower", Type: "number", Class: Proved},
	{Name: "decision.rival_upper", Type: "number", Class: Proved},
	{Name: "decision.gap", Type: "number", Class: Proved},
	{Name: "decision.vote", Type: "number", Class: Proved},
	{Name: "decision.rival_gap", Type: "number, omitted", Class: Proved},
	{Name: "decision.action", Type: "integer, omitted", Class: Compared},
	{Name: "output_mean", Type: "object, omitted", Class: Compared, Doc: "`--target mean`: bounds of the mean of each output over the posterior ([decisions.md](decisions.md)): for all x of T, `lower` <= E f_i(x) <= `upper`, a number for " +
		"each output. Its `verdict` is `mean_safe` if the property's box holds all that, `mean_unsafe` if the mean is surely outside of it at the witness of the proof, else `unknown`. `sd_lower` and `sd_upper` bound the standard deviation of f_i(x) over the posterior, and `total_sd_lower` and `total_sd_upper`, with `--noise`, that of the predictive. Omitted where some mean or deviation is not bounded"},
	{Name: "output_mean.verdict", Type: "string", Class: Compared},
	{Name: "output_mean.lower", Type: "numbers", Class: Proved},
	{Name: "output_mean.upper", Type: "numbers", Class: Proved},
	{Name: "output_mean.sd_lower", Type: "numbers", Class: Proved},
	{Name: "output_mean.sd_upper", Type: "numbers", Class: Proved},
	{Name: "output_mean.total_sd_lower", Type: "numbers, omitted", Class: Proved},
	{Name: "output_mean.total_sd_upper", Type: "numbers, omitted", Class: Proved},
	{Name: "statistical", Type: "object, omitted", Class: Compared, Doc: "how many `samples` were drawn, how many of them were proved `safe` and `unsafe`, `confidence`, `lower`, `upper`, and a `statement` " +
		"which says that it is no certificate"},
	{Name: "statistical.samples", Type: "integer", Class: Compared},
	{Name: "statistical.safe", Type: "integer", Class: Said},
	{Name: "statistical.unsafe", Type: "integer", Class: Said},
	{Name: "statistical.confidence", Type: "number", Class: Compared},
	{Name: "statistical.lower", Type: "number", Class: Proved},
	{Name: "statistical.upper", Type: "number", Class: Proved},
	{Name: "statistical.statement", Type: "string", Class: Compared},
	{Name: "log10_ceiling", Type: "number, omitted", Class: Said, Doc: "drawn boxes: log10 of the largest probability that so many boxes of this half-width can hold; for orientation"},
	{Name: "rule", Type: "string, omitted", Class: Compared, Doc: "how masses were added: see the table of rules below"},
	{Name: "margin", Type: "number or null", Class: Proved, Doc: "lower bound of the least margin: of the box (centred), or the best of all boxes (drawn); >= 0 is safe"},
	{Name: "require", Type: "number, or text", Class: Question, Asked: true, Doc: "`--require`; a fraction that has no finite decimal is text, `\"2/3\"`"},
	{Name: "verdict", Type: "string", Class: Compared, Doc: "`safe` if p_lower >= require and p_lower > 0, `unsafe` if p_upper < require, else `unknown`; the statistical interval does not count"},
	{Name: "guarantee", Type: "string", Class: Compared, Doc: "what p_lower and p_upper are: certified bounds in real arithmetic (docs/soundness.md)"},
	{Name: "stopped", Type: "string, omitted", Class: Compared, Doc: "why the search ended early: `time limit` ([time limits](#time-limits)), or `require`, as the verdict [was " +
		"known](#until-a-verdict-is-known). The bounds are what was proved until then"},
	{Name: "precision", Type: "string", Class: Question, Asked: true, Doc: "`float32` or `float64`"},
	{Name: "device", Type: "string", Class: Said, Doc: "the device that computed; it names the CPU too if chunks had to be moved there, and says why if a device was [dropped](#rechecks); " +
		"`host` for sums of neurons"},
	{Name: "seed", Type: "integer", Class: Question, Asked: true, Doc: "`--seed`"},
	{Name: "seconds", Type: "number, omitted", Class: Said, Doc: "this task's share of the wall time"},
	{Name: "peak_bytes", Type: "integer, omitted", Class: Said, Doc: "the most memory that the process had held when the record was written; on Linux"},
	{Name: "posterior", Type: "string", Class: Said, Doc: "path as typed"},
	{Name: "posterior_sha256", Type: "string", Class: Question, Asked: true, Doc: "digest of its content"},
	{Name: "posterior_scale", Type: "string", Class: Question, Asked: true, Doc: "a word of [`--scale`](formats.md#scale-what-a-spread-is), then after commas the words of single arrays that differ, such as " +
		"`softplus,none`; with `--scale-factor`, for example `sd x 10`; `unknown` for sets of networks, dropout, and where no array is a spread, as with covariances alone"},
	{Name: "predictive", Type: "string, omitted", Class: Question, Asked: true, Doc: "`linearised` with `--predictive linearised`: P_safe is that of the networks linearised in their weights about the mean, another posterior of functions than that of the networks ([posteriors.md](posteriors.md#8-the-linearised-posterior))"},
	{Name: "posterior_sd", Type: "string, omitted", Class: Question, Asked: true, Doc: "for an ONNX network: `--sd` as typed, `relative` and `--sd-relative`, or `file` and `--scale`"},
	{Name: "posterior_sd_file", Type: "string, omitted", Class: Said, Doc: "`--sd-file`: path as typed"},
	{Name: "posterior_sd_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of its content"},
	{Name: "activations", Type: "strings", Class: Question, Asked: true, Doc: "of the hidden layers, first layer first"},
	{Name: "inputs", Type: "string, omitted", Class: Said, Asked: true, Doc: "data or property file as typed"},
	{Name: "inputs_sha256", Type: "string, omitted", Class: Question, Asked: true, Doc: "digest of its content; for a folder or list of PNG files see [properties.md](properties.md#data-files-of-input-points)"},
	{Name: "version", Type: "string", Class: Said, Doc: "release and commit"},
	{Name: "numerics", Type: "integer", Class: Question, Asked: true, Doc: "records of the same question and the same `numerics` have the same bounds, whatever the version of psafe and the device"},
	{Name: "id", Type: "string", Class: Question, Doc: "32 hexadecimal digits that are the same for all records of the same question, whichever run they are from, and for no others: see below"},
	{Name: "task", Type: "integer", Class: Question, Doc: "this is number `task`, counted from 0, of the `tasks` tasks of its run"},
	{Name: "tasks", Type: "integer", Class: Question, Doc: "how many tasks the run has"},
	{Name: "run", Type: "string", Class: Question, Doc: "the first 16 hexadecimal digits of the SHA-256 of the `id`s of all tasks of the run, each with its line end, in their order: the " +
		"same in all records of a run and in no other run's"},
	{Name: "proof", Type: "object, omitted", Class: Compared, Doc: "what identifies the certificate besides the fields above, so that it can be proved again without a search: see below"},
	{Name: "proof.cells", Type: "integers", Class: Certificate, Doc: "clbp, neuronsum, and phases and chernoff if T was cut: how the boxes of T were cut. For each box its tree in preorder: -1 is a leaf, j >= 0 a cut in input j at the " +
		"middle, followed by the lower half's tree and the upper half's; absent if no box was cut"},
	{Name: "proof.grids", Type: "lists of lists of numbers", Class: Certificate, Doc: "neuronsum, if T was cut by planes: for each box, for each axis, the coordinates of the planes across it, ascending, inside the " +
		"box. The rows that were proved at the points of these grids are those of `mixtures` or, without `mixtures`, those of one " +
		"alternative of S"},
	{Name: "proof.centres", Type: "lists of lists of numbers", Class: Certificate, Doc: "with `grids`: each cell has a point at which the signs of pre-activations count. For each box and each axis these are the " +
		"coordinates of that point, one between each two planes. They lie inside the cell, or on its end in an axis without planes; without " +
		"`centres` the point is the middle"},
	{Name: "proof.large", Type: "lists", Class: Certificate, Doc: "with `grids` and `mixtures`, if neurons that are large in a few draws are split off " +
		"([neuronsum.md](neuronsum.md#7-large-neurons-split-off), (39)): for each box, for each row of the mixtures, null or an object with " +
		"the point `at` and the number `above`"},
	{Name: "proof.tau", Type: "numbers", Class: Certificate, Doc: "clbp: the failure budget of a hidden bound in each leaf, one number if they are the same; phases: that of a bound of the noise of a neuron or, with `leaves`, of a hidden bound for each box of T; chernoff: that of a statement about a neuron for each box of T, or each cell"},
	{Name: "proof.lines", Type: "lists of integers", Class: Certificate, Doc: "`--predictive linearised`, where T is no point: for each leaf the hidden neurons, counted over the layers, of which the line above was taken and not the one below ([posteriors.md](posteriors.md#8-the-linearised-posterior)); absent if there are none"},
	{Name: "proof.phases", Type: "objects", Class: Certificate, Doc: "phases: for each cell of T how its rows were proved for all networks whose noise is confined " +
		"([confinement.md](confinement.md#4-in-a-record)): an object with `open`, `raised`, `slopes` and `trees`"},
	{Name: "proof.leaves", Type: "objects", Class: Certificate, Doc: "phases, in the place of `proof.phases`: for each cell of T the trees of phases over whose leaves the tails of its rows were " +
		"added up ([leaves.md](leaves.md#4-in-a-record)): an object with `open`, `rows` and `trees`"},
	{Name: "proof.chernoff", Type: "objects", Class: Certificate, Doc: "chernoff: for each box of T, or each cell where T was cut, the moments that its rows were bounded by ([chernoff.md](chernoff.md#6-in-a-record)): an object with `rows`, " +
		"each with `rate` and `slopes`, on a box of some width with `budget` and `shares`, at a point where parts of the last layer's noise pay with `squares` and `upto`, and with three and more hidden layers `statements`, each with a rate and slopes"},
	{Name: "proof.mixtures", Type: "lists", Class: Certificate, Doc: "for a property with alternatives: the factors of a sum of rows that was proved in their place " +
		"([soundness.md](soundness.md#mixtures-of-alternatives)), for each clause one factor for each of its rows; absent if p_lower needs " +
		"none"},
	{Name: "proof.boxes", Type: "integers", Class: Certificate, Doc: "drawn boxes: the numbers of those in the union"},
	{Name: "proof.cuts", Type: "lists", Class: Certificate, Doc: "`--splits`: the tree of pieces in preorder. `[]` is a leaf, `[array, entry, at]` a cut of that entry of array 2k (weights of layer " +
		"k) or 2k+1 (biases), followed by the lower part's tree and the upper part's"},
	{Name: "proof.networks", Type: "objects", Class: Certificate, Doc: "a finite posterior: each `network` that was proved safe on cut `cells` or unsafe at a `witness`. Networks that are not listed are " +
		"safe on the boxes of T, or undecided"},
	{Name: "proof.upper", Type: "object", Class: Certificate, Doc: "how p_upper was shown: `method` clbp (with `tau`), chernoff (with `tau`, `rows` and `statements`) or neuronsum, at a `witness`"},
	{Name: "proof.decision", Type: "object", Class: Certificate, Doc: "how `decision` was shown: on `cells` of T with their `tau`, as above, and `rival_gap` for the class `rival` at a `witness` with " +
		"`witness_tau`; no taus of a finite posterior. With `margin`, `phases_tau` and `phases` all margins were proved to be at least that, for all networks whose noise is confined ([decisions.md](decisions.md#13-through-phases)). With costs, the class of `reference` whose differences to the others were bounded, and that at the witness"},
	{Name: "proof.mean", Type: "object", Class: Certificate, Doc: "on which `cells` of T means were bounded, as above, and the `witness` where one is outside of the box"},
	{Name: "checksum", Type: "string", Class: Compared, Doc: "the first 16 hexadecimal digits of the SHA-256 of the line before `,\"checksum\"`"},
}
