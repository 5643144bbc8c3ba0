#!/bin/sh
# Makes the posteriors and images of this folder again, byte for byte on the same
# kind of processor: afterwards "git diff --stat testdata" shows nothing.
# PSAFE may name a psafe program; without it the one of this repository runs.
set -eu
cd "$(dirname "$0")/.."
psafe=${PSAFE:-go run ./cmd/psafe}
train=$(mktemp -d)
trap 'rm -rf "$train"' EXIT

# Handmade posteriors, test images; training data into the temporary folder.
go run ./testdata/gen -train "$train"

$psafe train --data cubic --samples 1000 --hidden 128 --activation relu --epochs 400 \
	--kl-weight 0.01 --prior-sd 0.5 --seed 1 --overwrite --out testdata/cubic-128.npz

$psafe train --data "$train/glyphs-train-images-idx3-ubyte.gz" --labels "$train/glyphs-train-labels-idx1-ubyte.gz" \
	--task classification --hidden 32 --activation relu --epochs 100 --learning-rate 0.005 \
	--kl-weight 0.00001 --init-sd 0.002 --seed 1 --overwrite --out testdata/glyphs-64-32-10.npz

$psafe train --data "$train/glyphs-train-images-idx3-ubyte.gz" --labels "$train/glyphs-train-labels-idx1-ubyte.gz" \
	--task classification --hidden 24,24 --activation relu --epochs 100 --learning-rate 0.005 \
	--kl-weight 0.00001 --init-sd 0.001 --seed 1 --overwrite --out testdata/glyphs-64-24-24-10.npz

$psafe train --data "$train/glyphs-train-images-idx3-ubyte.gz" --labels "$train/glyphs-train-labels-idx1-ubyte.gz" \
	--task classification --layers conv:8x3x3,pool:2 --activation relu --epochs 100 --learning-rate 0.005 \
	--kl-weight 0.00001 --init-sd 0.005 --seed 1 --overwrite --out testdata/glyphs-conv-8-10.npz

$psafe train --data "$train/advisory-train.csv" --task classification --hidden 32 --activation relu --epochs 80 \
	--kl-weight 0.3 --prior-sd 0.5 --init-sd 0.01 --seed 1 --overwrite --out testdata/advisory-4-32-9.npz
