package campaign

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"testing"
)

// jobSchema is the file of what Kubernetes publishes of batch/v1 Job, without descriptions: of the
// file api/openapi-spec/v3/apis__batch__v1_openapi.json of a release the schemas that Job refers
// to. It comes from the module k8s.io/kubernetes, by go test ./host/job/campaign -run TestJobSchema
// -openapi FILE.
const jobSchema = "testdata/kubernetes-1.36.3-job.json"

const jobKind = "io.k8s.api.batch.v1.Job"

var openAPI = flag.String("openapi", "", "the published schemas, from which "+jobSchema+" is made again")

// schemas are JSON schemas by their names, of the keywords that Kubernetes uses.
type schemas map[string]any

func readSchemas(t *testing.T, file string) schemas {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s schemas
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// TestJobSchema makes the file again from what is published, if that is given.
func TestJobSchema(t *testing.T) {
	if *openAPI == "" {
		t.Skip("no -openapi")
	}
	all := schemas(readSchemas(t, *openAPI)["components"].(map[string]any)["schemas"].(map[string]any))
	needed := schemas{}
	all.collect(jobKind, needed)
	text, err := json.MarshalIndent(needed, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(jobSchema, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// collect puts a schema and all that it refers to into needed, bare of what says nothing about
// what is valid.
func (s schemas) collect(name string, needed schemas) {
	if needed[name] != nil {
		return
	}
	needed[name] = true
	needed[name] = s.bare(s[name], needed)
}

func (s schemas) bare(v any, needed schemas) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.bare(v[i], needed)
		}
	case map[string]any:
		for key, inner := range v {
			switch {
			case key == "description" || key == "default" || len(key) > 2 && key[:2] == "x-":
				delete(v, key)
			case key == "$ref":
				s.collect(path.Base(inner.(string)), needed)
			case key == "properties":
				for name, property := range inner.(map[string]any) {
					inner.(map[string]any)[name] = s.bare(property, needed)
				}
			default:
				v[key] = s.bare(inner, needed)
			}
		}
	}
	return v
}

// violations returns what a value of YAML has that a schema does not allow. Fields that the schema
// does not know are refused, as the API server does where it is strict.
func (s schemas) violations(schema map[string]any, v any, at string) []string {
	var found []string
	bad := func(format string, args ...any) {
		found = append(found, at+": "+fmt.Sprintf(format, args...))
	}
	for key, value := range schema {
		switch key {
		case "$ref":
			found = append(found, s.violations(s[path.Base(value.(string))].(map[string]any), v, at)...)
		case "allOf":
			for _, one := range value.([]any) {
				found = append(found, s.violations(one.(map[string]any), v, at)...)
			}
		case "oneOf":
			if n := len(slices.DeleteFunc(slices.Clone(value.([]any)), func(one any) bool {
				return len(s.violations(one.(map[string]any), v, at)) > 0
			})); n != 1 {
				bad("%v is of %d of the kinds that it may be", v, n)
			}
		case "type":
			if got := typeOf(v); got != value && !(got == "integer" && value == "number") {
				bad("is %s, not %s", got, value)
			}
		case "format":
			if n, isInt := v.(int); isInt && value == "int32" && (n < math.MinInt32 || n > math.MaxInt32) {
				bad("%d is no int32", n)
			}
		case "required":
			fields, _ := v.(map[string]any)
			for _, name := range value.([]any) {
				if _, has := fields[name.(string)]; !has {
					bad("%s is missing", name)
				}
			}
		case "items":
			list, _ := v.([]any)
			for i, item := range list {
				found = append(found, s.violations(value.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "properties", "additionalProperties":
		default:
			panic("schema with a keyword that this test does not know: " + key)
		}
	}
	known, _ := schema["properties"].(map[string]any)
	rest, _ := schema["additionalProperties"].(map[string]any)
	fields, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if of, is := known[name].(map[string]any); is {
			found = append(found, s.violations(of, fields[name], at+"."+name)...)
		} else if rest != nil {
			found = append(found, s.violations(rest, fields[name], at+"."+name)...)
		} else if schema["type"] == "object" {
			bad("has no field %s", name)
		}
	}
	return found
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case int:
		return "integer"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}
