// Package paper is the experiments of the paper: Wicker, Laurenti, Patane and
// Kwiatkowska, "Probabilistic Safety for Bayesian Neural Networks", UAI 2020. It
// asks the questions; the answers come from the packages that certify, and nothing
// here is part of a proof.
package paper
