package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"psafe/host/job/campaign"
)

// TestCampaignKeys: every flag of certify is a key of a campaign file or says where it belongs,
// and what is known of flags by name is of flags that there are.
func TestCampaignKeys(t *testing.T) {
	keys := campaignKeys()
	find := func(name string) *campaign.Flag {
		i := slices.IndexFunc(keys, func(f campaign.Flag) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("certify has no flag --%s", name)
		}
		return &keys[i]
	}
	for _, name := range append(slices.Clone(campaignLists), "activation") {
		if !find(name).List {
			t.Errorf("%s takes no list", name)
		}
	}
	for name := range campaignElsewhere {
		if find(name).Elsewhere == "" {
			t.Errorf("%s is a key", name)
		}
	}
	var switches []string
	for _, f := range keys {
		if f.Switch && f.Elsewhere == "" {
			switches = append(switches, f.Name)
		}
	}
	if want := []string{"no-upper", "derived"}; !slices.Equal(switches, want) {
		t.Errorf("switches %q, want %q", switches, want)
	}
	// What decides no number would make tasks that differ in nothing.
	for _, name := range []string{"posterior", "scale-factor", "inputs", "eps", "method", "property", "precision", "require", "seed", "time-limit"} {
		if find(name).Elsewhere != "" {
			t.Errorf("%s is no key", name)
		}
	}
	// docs/campaigns.md names those that are none.
	page, err := os.ReadFile("../../docs/campaigns.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range campaignElsewhere {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/campaigns.md does not say that %s is no key", name)
		}
	}
}

// TestCampaignExamples: the campaign files in docs/campaigns.md can be read and are made of flags
// of certify; the first is testdata/campaign.yaml.
func TestCampaignExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/campaigns.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(testFile("campaign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if _, text, _ := strings.Cut(string(example), "\n\n"); len(files) < 2 || files[0][1] != text {
		t.Errorf("docs/campaigns.md has %d campaign files, the first is not testdata/campaign.yaml", len(files))
	}
	for _, f := range files {
		path := filepath.Join(t.TempDir(), "campaign.yaml")
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		spec, err := campaign.ReadSpec(path, campaignKeys())
		if err != nil {
			t.Error(err)
			continue
		}
		planner := campaign.Planner{Parse: campaignJob}
		if _, err := planner.Jobs(spec); err != nil {
			t.Error(err)
		}
	}
}
