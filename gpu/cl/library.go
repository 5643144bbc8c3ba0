package cl

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// library is one opened OpenCL library. The process has one, but tests open
// several.
type library struct {
	functions
	name   string
	handle uintptr

	// buffersReleased counts the buffers that were given back.
	buffersReleased atomic.Int64

	mu sync.Mutex
	// inFlight holds the transfers whose Go memory C may still touch. Being in this map is what keeps
	// their pins alive.
	inFlight map[*transfer]bool
}

// openLibrary opens the first of names that is an OpenCL 1.2 library. The error
// lists all failures; it wraps ErrNotFound when not one of the names opened.
func openLibrary(names []string) (*library, error) {
	var missing, broken []string
	for _, name := range names {
		handle, err := dlopen(name)
		if err != nil {
			missing = append(missing, oneLine(name, err))
			continue
		}
		l := &library{name: name, handle: handle, inFlight: map[*transfer]bool{}}
		if err := l.bind(); err != nil {
			dlclose(handle)
			broken = append(broken, err.Error())
			continue
		}
		return l, nil
	}
	if len(broken) > 0 {
		return nil, fmt.Errorf("cl: %s", strings.Join(append(broken, missing...), "; "))
	}
	return nil, fmt.Errorf("%w (tried %s)", ErrNotFound, strings.Join(missing, "; "))
}

// oneLine is the dynamic linker's message, which names the file in most cases
// but not in all.
func oneLine(name string, err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if strings.Contains(s, name) {
		return s
	}
	return name + ": " + s
}

// bind finds every function before the first is called, so that a library that
// lacks one fails here, by name, and not in the middle of a run.
func (l *library) bind() error {
	for _, s := range l.symbols() {
		addr, err := dlsym(l.handle, s.name)
		if err != nil || addr == 0 {
			return fmt.Errorf("%s is not an OpenCL 1.2 library: it has no function %s", l.name, s.name)
		}
		register(s.fn, addr)
	}
	return nil
}

// object holds what all OpenCL objects have in common: a handle that is 0 once released.
type object struct {
	lib    *library
	id     atomic.Uintptr
	kind   string // for the panic of use after release
	device string // for errors
}

// init fills in a new object; an object is never copied.
func (o *object) init(lib *library, id uintptr, kind, device string) {
	o.lib, o.kind, o.device = lib, kind, device
	o.id.Store(id)
}

// use returns the handle of an object that must not have been released.
func (o *object) use() uintptr {
	id := o.id.Load()
	if id == 0 {
		panic("cl: use of a " + o.kind + " after its Release")
	}
	return id
}

// release calls release once, however often it is called.
func (o *object) release(call string, release func(uintptr) int32) error {
	id := o.id.Swap(0)
	if id == 0 {
		return nil
	}
	return check(call, release(id), o.device)
}

// query is one of the clGet...Info functions with its object bound.
type query func(size uintptr, value unsafe.Pointer, got *uintptr) int32

// infoBytes asks for a value of unknown length: first its length, then itself. A
// length above limit is an error.
func infoBytes(call, device string, limit uintptr, get query) ([]byte, error) {
	var size uintptr
	if err := check(call, get(0, nil, &size), device); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, nil
	}
	if size > limit {
		return nil, lie(call, device, "that an answer has %d bytes", size)
	}
	value := make([]byte, size)
	got := size
	if err := check(call, get(size, unsafe.Pointer(&value[0]), &got), device); err != nil {
		return nil, err
	}
	return value[:min(got, size)], nil
}

// infoString is infoBytes as text, without C's terminating zero, without the
// spaces that some drivers pad names with, and with nothing in it but what can be
// printed in one line.
func infoString(call, device string, get query) (string, error) {
	b, err := infoBytes(call, device, mostText, get)
	s, _, _ := strings.Cut(string(b), "\x00")
	return clean(strings.TrimSpace(s), ""), err
}

// scalar describes what C passes by value here: numbers, and handles and sizes.
type scalar interface{ Element | ~uintptr }

// info asks for a value of fixed size.
func info[T scalar](call, device string, get query) (T, error) {
	value := new(T)
	var got uintptr
	err := check(call, get(unsafe.Sizeof(*value), unsafe.Pointer(value), &got), device)
	return *value, err
}

// list returns the arguments (n, pointer) of an array of handles; an empty array
// is (0, NULL), as OpenCL demands.
func list(ids []uintptr) (uint32, *uintptr) {
	if len(ids) == 0 {
		return 0, nil
	}
	return uint32(len(ids)), &ids[0]
}

// cString returns s with C's terminating zero.
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
