package cl

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"psafe/internal/fpcontrol"
)

// foreign runs f, which calls foreign code once; nothing in this package calls any
// but through it. The linker's error messages are kept per thread, so the goroutine
// stays in its own; and so is the control word of the processor's floating-point unit,
// which is set back before any other goroutine may run in this thread and before the
// runtime may make another one of it (see [fpcontrol]).
func foreign(f func()) {
	runtime.LockOSThread()
	f()
	fpcontrol.Set(fpcontrol.Default)
	runtime.UnlockOSThread()
}

// mostArgs is the greatest number of arguments of a function of OpenCL that is used here.
const mostArgs = 9

// direct calls the C function at addr by foreign. What pointers among the arguments point to is kept
// and stays where it is until C returns.
//
//go:uintptrescapes
func direct(addr uintptr, args ...uintptr) (result uintptr) {
	foreign(func() { result = call(addr, args) })
	return result
}

// register makes *fn, a function of handles, sizes, numbers and pointers to Go memory,
// call the C function at addr by foreign. purego could do it, but not with the thread
// kept. What a pass calls hundreds of times goes without reflection, which takes three
// times as long as the call.
func register(fn any, addr uintptr) {
	switch fn := fn.(type) {
	case *func(object uintptr) int32:
		*fn = func(object uintptr) int32 { return int32(direct(addr, object)) }
	case *func(kernel uintptr, index uint32, size uintptr, value unsafe.Pointer) int32:
		*fn = func(kernel uintptr, index uint32, size uintptr, value unsafe.Pointer) int32 {
			return int32(direct(addr, kernel, uintptr(index), size, uintptr(value)))
		}
	case *func(queue, kernel uintptr, dims uint32, offset, global, local *uintptr, nwait uint32, wait, event *uintptr) int32:
		*fn = func(queue, kernel uintptr, dims uint32, offset, global, local *uintptr, nwait uint32, wait, event *uintptr) int32 {
			return int32(direct(addr, queue, kernel, uintptr(dims), uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(global)),
				uintptr(unsafe.Pointer(local)), uintptr(nwait), uintptr(unsafe.Pointer(wait)), uintptr(unsafe.Pointer(event))))
		}
	case *func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer, nwait uint32, wait, event *uintptr) int32:
		*fn = func(queue, mem uintptr, blocking uint32, offset, size uintptr, data unsafe.Pointer, nwait uint32, wait, event *uintptr) int32 {
			return int32(direct(addr, queue, mem, uintptr(blocking), offset, size, uintptr(data), uintptr(nwait),
				uintptr(unsafe.Pointer(wait)), uintptr(unsafe.Pointer(event))))
		}
	default:
		reflected(fn, addr)
	}
}

// reflected is register for functions of any arguments.
func reflected(fn any, addr uintptr) {
	v := reflect.ValueOf(fn).Elem()
	result := v.Type().Out(0)
	v.Set(reflect.MakeFunc(v.Type(), func(args []reflect.Value) []reflect.Value {
		var words [mostArgs]uintptr
		for i, a := range args {
			words[i] = word(a)
		}
		var r uintptr
		foreign(func() { r = call(addr, words[:len(args)]) })
		runtime.KeepAlive(args)
		got := reflect.New(result).Elem()
		if got.CanInt() {
			got.SetInt(int64(int32(r)))
		} else {
			got.SetUint(uint64(r))
		}
		return []reflect.Value{got}
	}))
}

// word returns a as C receives it.
func word(a reflect.Value) uintptr {
	switch a.Kind() {
	case reflect.Pointer, reflect.UnsafePointer:
		return a.Pointer()
	case reflect.Uintptr, reflect.Uint32, reflect.Uint64:
		return uintptr(a.Uint())
	}
	panic(fmt.Sprintf("cl: a C function with a %v among its arguments", a.Type()))
}
