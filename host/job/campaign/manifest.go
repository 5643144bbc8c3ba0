// Package campaign certifies in shards: thousands of inputs under many posteriors, radii, methods
// and properties. Plan makes of a campaign file a folder with a manifest, in which every task has
// an identity of its own; Run does the tasks of one shard and may be killed anywhere, run twice or
// run at the same time as another; Status counts what is there; Merge makes one result file of it.
// What starts the shards, on which machine, and starts them again, is Slurm or Kubernetes: here is
// no scheduler.
//
// A campaign is a folder DIR:
//
//	DIR/campaign.json       the manifest: Manifest
//	DIR/tasks.jsonl         a line for each task: Task
//	DIR/results/            the files of attempts (attempt.go)
package campaign

// Format is the version of the layout of a campaign's folder. A folder of another is refused.
const Format = 1

// Names in the folder of a campaign.
const (
	ManifestName = "campaign.json"
	TasksName    = "tasks.jsonl"
	ResultsName  = "results"
)

// Manifest describes what a campaign computes. It never changes once it is written.
type Manifest struct {
	Format int `json:"format"`
	// Campaign is the first 16 hexadecimal digits of the SHA-256 of the tasks' ids, each with
	// its line end, in their order: the field run of all its records.
	Campaign string `json:"campaign"`
	// Numerics is prove.Numerics of the program that planned: one with another refuses to run
	// the campaign. Version names that program, for people.
	Numerics int    `json:"numerics"`
	Version  string `json:"version"`
	// Base is the folder that relative paths start from, seen from DIR: that of the campaign file.
	Base string `json:"base"`
	// Tasks counts all tasks; TasksSHA256 is the digest of the file of them.
	Tasks       int    `json:"tasks"`
	TasksSHA256 string `json:"tasks_sha256"`
	Jobs        []Call `json:"jobs"`
}

// Call describes what one psafe certify would do: one posterior, data file, method and property,
// and all radii.
type Call struct {
	// Args are the flags of psafe certify, without those that decide nothing (--out, --device). The
	// file has them in the words of records.
	Args []string `json:"args"`
	// First is the number of its first task in the campaign, Tasks how many it has: those from
	// 0 to Tasks-1 of the job are number First on of the campaign.
	First int `json:"first"`
	Tasks int `json:"tasks"`
	// Files holds what the job reads, as its flags name them, with the digests that records have.
	Files []File `json:"files"`
}

// File is a file or folder that a job reads.
type File struct {
	Path string `json:"path"`
	// SHA256 is the digest that records have of it, in the field that Field names.
	Field  string `json:"field"`
	SHA256 string `json:"sha256"`
}

// Task is one line of the file of tasks, in the order of their numbers.
type Task struct {
	Task int `json:"task"`
	// ID is Record.ID of the task's record: the same wherever the same thing is asked, and
	// nowhere else.
	ID string `json:"id"`
	// Job is the number of its job.
	Job int `json:"job"`
	// Index, Eps, Name, Property and RadiusEnd are those of the record, for people and for tools. A radius
	// that is looked for has no Eps yet.
	Index     int    `json:"index"`
	Eps       string `json:"eps,omitempty"`
	RadiusEnd string `json:"radius_end,omitempty"`
	Name      string `json:"name,omitempty"`
	Property  string `json:"property"`
}
