module psafe

go 1.26.0

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
)
