package covary

import (
	"context"
	"sync"

	"psafe/internal/fault"
)

// Matrices of covariances are made of products that grow with the cube of a layer's inputs: of some thousands, as a
// file of a few kilobytes may have them, seconds. So it is looked in between whether to go on.

// Ended says why work has to stop, nil if it may go on.
type Ended func() error

// never is Ended of work that may take as long as it takes.
func never() error { return nil }

// mostGram is about how many products are made from one look to the next: milliseconds.
const mostGram = 1 << 22

// gram sets to[j n + i], for i <= j, to the sum over k of float64(b[i m + k] * own[k]) for B [n x m], in the order
// of k, on all cores; own is row j of B, or what weigh makes of it in its place. The error is that of ended.
func gram(to, b []float64, n, m int, weigh func(own []float64), ended Ended) error {
	const rows = 4 // that share what is read
	var mutex sync.Mutex
	var failed error
	stop := func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		if failed == nil {
			failed = ended()
		}
		return failed != nil
	}
	blocks := (n + rows - 1) / rows
	fault.OnCores(context.Background(), blocks, func(block int) {
		block = blocks - 1 - block // long ones first
		first := block * rows
		own := make([][]float64, min(rows, n-first))
		for r := range own {
			if own[r] = b[(first+r)*m : (first+r+1)*m]; weigh != nil {
				own[r] = append([]float64(nil), own[r]...)
				weigh(own[r])
			}
		}
		most := first + len(own)
		step := max(2, mostGram/(rows*max(1, m))&^1)
		for i := 0; i < most; i += step {
			if stop() {
				return
			}
			dots(to, b, n, m, first, own, i, min(i+step, most))
		}
	})
	return failed
}

// dots is gram of rows from..end-1 of B and rows first, first+1, ... of own: two by four at a time, since each sum
// waits for itself.
func dots(to, b []float64, n, m, first int, own [][]float64, from, end int) {
	put := func(r, i int, sum float64) {
		if i <= first+r {
			to[(first+r)*n+i] = sum
		}
	}
	i := from
	for ; i+1 < end && len(own) == 4; i += 2 {
		x, y := b[i*m:(i+1)*m], b[(i+1)*m:(i+2)*m]
		y, o0, o1, o2, o3 := y[:len(x)], own[0][:len(x)], own[1][:len(x)], own[2][:len(x)], own[3][:len(x)]
		var a0, a1, a2, a3, b0, b1, b2, b3 float64
		for k, u := range x {
			v := y[k]
			a0 += float64(u * o0[k])
			a1 += float64(u * o1[k])
			a2 += float64(u * o2[k])
			a3 += float64(u * o3[k])
			b0 += float64(v * o0[k])
			b1 += float64(v * o1[k])
			b2 += float64(v * o2[k])
			b3 += float64(v * o3[k])
		}
		for r, sum := range [4]float64{a0, a1, a2, a3} {
			put(r, i, sum)
		}
		for r, sum := range [4]float64{b0, b1, b2, b3} {
			put(r, i+1, sum)
		}
	}
	for ; i < end; i++ {
		for r := range own {
			sum := 0.0
			for k, u := range b[i*m : (i+1)*m] {
				sum += float64(u * own[r][k])
			}
			put(r, i, sum)
		}
	}
}
