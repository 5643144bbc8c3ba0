// Package onnx reads ONNX files: a model of protocol buffers becomes a plain Graph of named
// tensors and nodes. Nothing is computed and nothing is run here; package lower makes layers
// of a graph.
//
// Every input is treated as hostile: a length is believed only as far as there are bytes
// behind it, what can be many is counted against a limit, and fields that this reader does
// not know are skipped, as protocol buffers demand. What would change the meaning of a graph
// and is not read (sub-graphs, external data, sparse tensors) is an error that says so.
//
// Source: onnx.proto of github.com/onnx/onnx, which numbers the fields.
package onnx

// Graph is the graph of a model.
type Graph struct {
	// Opset is the version of the default operator set.
	Opset int64
	// Inputs holds the inputs that are no initialisers.
	Inputs, Outputs []Value
	Initializers    []*Tensor
	// Nodes are in the order of the file, in which every node should come after those whose
	// outputs it takes; nothing here checks that.
	Nodes []Node
}

// Value is an input or an output of the graph.
type Value struct {
	Name string
	Type DataType
	// Shape is nil, and HasShape false, where the file gives none.
	Shape    []Dim
	HasShape bool
}

// Dim is one axis: a Size >= 0, or -1 where the file leaves it open, with or without a name.
type Dim struct {
	Size int64
	Name string
}

// Node is one operator.
type Node struct {
	// Name may be empty. Domain is empty for the default operators.
	Name, Op, Domain string
	// Inputs and Outputs are names of tensors; an empty one stands for one left out.
	Inputs, Outputs []string
	Attributes      []Attribute
}

// Attribute is a named constant of a node.
type Attribute struct {
	Name    string
	Kind    AttributeKind
	Float   float64
	Int     int64
	String  string
	Tensor  *Tensor
	Floats  []float64
	Ints    []int64
	Strings []string
}

// AttributeKind says which field of an Attribute holds it; the numbers are those of the
// format.
type AttributeKind int64

// The kinds that are read.
const (
	AttrFloat   AttributeKind = 1
	AttrInt     AttributeKind = 2
	AttrString  AttributeKind = 3
	AttrTensor  AttributeKind = 4
	AttrFloats  AttributeKind = 6
	AttrInts    AttributeKind = 7
	AttrStrings AttributeKind = 8
)

// DataType is an element type; the numbers are those of the format.
type DataType int64

// The element types that are read.
const (
	Float32  DataType = 1
	Int32    DataType = 6
	Int64    DataType = 7
	Bool     DataType = 9
	Float16  DataType = 10
	Float64  DataType = 11
	BFloat16 DataType = 16
)

// dataTypes are the types that are read: their words, and bytes of an element in raw_data.
var dataTypes = map[DataType]struct {
	word string
	size int
}{
	Float32: {"float32", 4}, Int32: {"int32", 4}, Int64: {"int64", 8}, Bool: {"bool", 1},
	Float16: {"float16", 2}, Float64: {"float64", 8}, BFloat16: {"bfloat16", 2},
}

// String is the word of the type.
func (t DataType) String() string {
	if d, known := dataTypes[t]; known {
		return d.word
	}
	return "of another type"
}

// IsFloat reports whether elements are in Tensor.Floats, not in Ints.
func (t DataType) IsFloat() bool {
	return t == Float32 || t == Float64 || t == Float16 || t == BFloat16
}

// Tensor is a constant: an initialiser, or an attribute.
type Tensor struct {
	Name string
	Type DataType
	// Shape has one entry for each axis, each >= 0; a scalar has none.
	Shape []int
	// Floats or Ints has the elements, in C order, each exactly the number in the file: as
	// many as the product of Shape. Those of Bool are 0 and 1, in Ints.
	Floats []float64
	Ints   []int64
}

// Limits of what is read, beside the length of the file (docs/files.md, Limits).
const (
	// MaxNodes bounds the nodes, and the initialisers.
	MaxNodes = 1 << 16
	// maxNames bounds names and attributes of all nodes together.
	maxNames = 1 << 20
	// maxList bounds, in bytes, a list of numbers that is an attribute.
	maxList = 1 << 22
	// maxAxes bounds the axes of a tensor.
	maxAxes = 16
)
