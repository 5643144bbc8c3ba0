// Package paper repeats the experiments of the paper: Wicker, Laurenti, Patane and Kwiatkowska,
// "Probabilistic Safety for Bayesian Neural Networks", UAI 2020. It asks the questions, as jobs of
// package run; the answers come from the packages that certify, and nothing here is part of a
// proof. Config.Run does the jobs, holds their records against each other and writes the page with
// tables and figures.
package paper
