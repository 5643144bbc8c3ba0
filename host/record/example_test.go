package record_test

import (
	"fmt"
	"strings"

	"psafe/host/record"
)

const resultLine = `{"index":0,"property":"argmax_is:1","method":"clbp","p_lower":0.98886,"log10_p_lower":-0.0048653,"p_upper":1,` +
	`"require":0.9,"verdict":"safe","guarantee":"certified bounds, real arithmetic, rounding included","precision":"float32",` +
	`"posterior":"net.npz","posterior_sha256":"5241","inputs":"x.npy","inputs_sha256":"90ab","version":"0.2.0","numerics":1,` +
	`"id":"0123456789abcdef0123456789abcdef","task":0,"tasks":1,"run":"5bd1e995","checksum":"a5fa458196294402"}`

// Records are lines of JSON, one for each input.
func ExampleReadRecords() {
	records, err := record.ReadRecords("results.jsonl", strings.NewReader(resultLine+"\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(records), records[0].Property, records[0].Verdict)
	// Output: 1 argmax_is:1 safe
}

// Lower bounds are printed rounded down, upper ones up.
func ExampleFormatDown() {
	fmt.Println(record.FormatDown(0.98886, 3), record.FormatUp(0.98886, 3))
	// Output: 0.988 0.989
}
