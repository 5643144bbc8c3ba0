// Package sums proves again what sums of neurons show of networks with one hidden layer: on cells
// of T, at a witness, and by the points of grids. Where certify adds up by its own lattices, this
// does so by others, and shares arithmetic alone with it. The mathematics is that of section 8 of
// docs/theory.md; what is proved here is what this package does otherwise.
//
// # Cells and witnesses
//
// What is done otherwise than in certify, and why it is sound:
//
// Bins have fixed places in standard deviations. All normal variables are cut at the same numbers z
// of one table. Between two of them the value, mean + z sd, is an interval. The mass of a bin is
// then a number of the table, for any mean and standard deviation. So no tail is computed for a
// neuron, except for the one that splits an output weight at 0.
//
// The supporting line is seen from the vertex. Given t(v), t(c) is normal, and the line is t(v)
// with the probability q that t(c) > 0, else alpha t(v) (sums.positive). In a bin of t(v), q is
// between two numbers. The larger of both values gets its least share, which makes a variable that
// is stochastically below. certify goes the other way round, from bins of t(c) to values of t(v).
// Here only the share has to be rounded.
//
// Constants are intervals. A term whose factors are both constants is added to the normal rest.
//
// Roundings. Sums of weights and inputs are taken in twice the working precision. Masses are upper
// bounds, each for itself; a number of the lattice that is a sum of n products is enlarged by (n +
// 8) 2^-51 of itself. The place of a product on the lattice is lowered by more than its roundings.
// Terms of sizes that a lattice cannot multiply are taken times powers of two (sized), and rounded
// outward where they become subnormal. Between entries of the table the distribution function is
// bounded by its chord, which for z > 0 is too low by at most h^2/8 max|F”| < h^2/32.
//
// Rare neurons. The step is a share of the sum's deviation, of which neurons that are next to never
// active have next to none. Where terms reach further than such a lattice, they are added up on a
// coarse one too, and the less counts.
//
// # Grids and mixtures
//
// Mixtures (31). S is an AND of at most 64 clauses, each an OR of rows (clausesOf). Where a sum of
// a clause's rows, with factors theta >= 0, is at least 0, so is one of the rows. The factors are
// those of the record, which were chosen before any weight is drawn; the sums are formed by the
// checker, enclosed by floats of which most are exact.
//
// Points (32). In a cell C with centre c_C, the margin is at least the multilinear interpolation of
// sum_i X_i,C(v) + a_0 at the cell's vertices ((15)). If X_i,C(v) is replaced by the least of it
// over all cells around v, which is one variable for each point of the grid, it still is. So if the
// margin is not positive somewhere in T, then sum_i X_i(v) + a_0 <= 0 at a point v of the grid, and
// the probabilities of that are added up. For a_i < 0, X_i(v) = a_i s(t_i(v)). For a_i >= 0 it is
// a_i low_i(v),
//
//	low = t(v)        if t(v) > 0 and t > 0 at all centres around v,
//	                  or t(v) <= 0 and t > 0 at some of them
//	low = alpha t(v)  otherwise                                        (alpha: the slope of s)
//
// The law of low. t(v) is cut into bins (theValueBins). For u > 0 a share of a bin moves down to
// alpha u. This share is the greatest probability P(u) in the bin that some centre has t <= 0,
// given t(v) = u. For u <= 0 the share that stays at u is the greatest probability that some centre
// has t > 0, which is P(-u) of the weights with the other sign. The least t at the centres is t(v)
// plus min(w_j before_j, w_j after_j) for each coordinate j with cells on both sides (before < 0 <
// after are the centres' distances from v), plus one normal variable for all other coordinates
// together. These are at most five variables, independent of each other, and given t(v) = u they
// are
//
//	y_k = E y_k + cov_k/V (u - E t) + sum_(l <= k) root_kl Z_l,      Z_l independent, N(0, 1)
//
// (given: nothing cancels in the conditional variances). Given Z_1 .. Z_n, the last y is normal,
// and
//
//	Prob(R + min(y before, y after) <= 0) <= Q((R/|before| - m)/sd) + Q((R/after + m)/sd)
//
// for R = u + the other minima. So P(u) is at most the mean over Z of two tails. Minima are concave
// and everything else is linear, so the arguments of Q are concave in (u, Z), and not below what
// multilinear interpolation from nodes of u and Z says. Q falls, and is convex for positive
// arguments. For negative ones a chord is too low by at most (its width)^2/8 max(-Q”), of which
// one term for each of u and Z_l is added where an argument beside the node may be negative. So
//
//	P(u) <= sum over nodes z of Prob(hat_z) (two values at z) + what lies beyond the nodes
//
// and between two nodes of u the line is above P. The means of hats are numbers of a table, and
// errors of arguments, which are computed in plain float64 from enclosed coefficients, are bounded
// and taken off. Where the last y is hardly random any more the least argument beside each node
// counts instead. Where the sum of the tails of all centres is below 1e-7 that sum is taken.
// Compared with draws of the weights given t(v), the result is at most a quarter too large. Where
// it counts, the bound of a point of the VCAS network is 2 to 10 % above that of the drawn law.
//
// Large neurons (39). Draws in which one neuron has a very negative term fail at many points at
// once. Where a proof has large, a box of T and a row may have a point x and a tau > 0. With B_i =
// {a_i < 0 and -a_i t_i(x) > tau}
//
//	Prob(margin <= 0 somewhere in the box) <= sum_i Prob(B_i)
//	       + sum over the points v of Prob(sum_i X_i(v) + a_0 <= 0 and no B_i)
//
// Any x and tau will do. Prob(B_i) is added up over bins of a_i whose width is a thousandth of its
// deviation, each with the tail of t_i(x) at tau/|a| for the largest |a| in it (largeTermUp). "No
// B_i" is an event of each neuron by itself. So the terms of the sum at a point stay independent,
// and lose mass: where a_i = a < 0 and t(v) = u, the share that is left is
//
//	Prob(t(x) <= tau/|a| | u) = Phi(y),   y = (tau/|a| - E(t(x) | u))/sd
//
// a and u have moved to ends of their bins, independently of each other and of t(x) given u. What
// is left of a pair of ends is the mean of Phi(y) over what has moved to them. With y' >= E y that
// is at most d from any y of the (at most four) bins beside the ends, it is at most Phi(y' + d),
// and by Taylor's formula
//
//	E Phi(y) <= Phi(y') + d^2/2 max(0, Phi'' within d of y')
//
// of which the second counts for d <= 1/4, from a table of both maxima on cells of 1/2048. y is a
// function of a less one of u, so y' is a difference of two numbers, one for each end of a and one
// for each end of u. What comes to an end from the bin on one side is on the average a third of the
// way to the other end of that bin, give or take c e^c/18 of it for a density whose logarithm moves
// by c in the bin (setWays). That tells E u, and bounds E 1/|a|, since 1/|a| is below its chord.
// The variance of t(x) given u is that of sum (x_p - k v_p) w_p, less its covariance with u,
// squared, over Var u, for any k; with k = Cov/Var u that is next to nothing, and nothing cancels.
// Where the deviation is hardly known, as for v = x, a pair keeps all its mass unless all of it has
// y < 0. All is left of pairs with u <= 0 or in the bin of 0, of neurons whose value is a constant,
// and where few neurons are added up as those of cells are. Transforms of neurons that lose much of
// their mass err by more than others, relatively (errUp); where less than a 20th is left they prove
// nothing (sums of at most four neurons do).
//
// # The sum at a point of a grid
//
// The sum at a point. Points fail with about 0.01, and there are hundreds of them: what rounding
// takes off the sum, in standard deviations, counts twice as much in percent of that. So weights
// and t(v) are not rounded down to an end of their bin, but to either end at random, with their
// mean kept (weightBins: what goes to each end is a difference of tails and densities), and so is
// the product to the lattice of step d. These three steps move a_i h_i with mean 0 whatever came
// before, within w |h_i|, v |a_i'| and d, for bins of the widths w and v. With any rate and
// Hoeffding's lemma, that is, E exp(rate D) <= exp(rate^2 range^2/8),
//
//	Y_i = a_i' h_i' - rate/8 (w^2 (|h_i'| + v)^2 + v^2 a_i'^2) + E_i - rate/8 d^2
//	E psi(sum a_i h_i + rest) <= E psi(sum Y_i + rest),      psi(x) = max(0, 1 - e^(rate (x - s)))
//	Prob(sum a_i h_i + rest <= 0) (1 - e^(-rate s)) <= Prob(sum Y_i + rest <= s)     for all s > 0
//
// The squares are taken off each product where it is placed, so that wide bins and large h_i only
// cost where they are. Where rest, a_0, has a deviation sigma, there is a bound without s. Let x_m
// be E rest. A falling function g whose derivative is -k(x) e^(rate x) with a k that never rises is
// a sum of multiples of psi for several s: E g(sum a_i h_i) <= E g(sum Y_i). The function x ->
// Prob(x + rest <= 0) is such a one for x >= -x_m - rate sigma^2, where it is Phi(r) with r = rate
// sigma. Left of that the g that goes on there, its slope a multiple of e^(rate x), is above it and
// never exceeds Phi(r) + phi(r)/r. Hence
//
//	Prob(sum a_i h_i + rest <= 0) <= Prob(sum Y_i + rest <= 0) (1 + phi(r)/(r Phi(r)))
//
// r = 3 costs 0.15 %. The bound that needs the smaller shift chooses the rate. The lattice has
// 65536 points for 18 standard deviations of the sum. Its masses are taken modulo that, by Fourier
// transforms (host/arith), whose rounding errors are below 1.1e-8 for 512 neurons. Where much lies
// below it, wider circles are tried. What is below the circle's window is bounded by E r^S for
// several r, and counts as failure. Sums of at most four random neurons are also added up as those
// of cells are, each value put back to the far end of its bin first, and the less counts.
package sums
