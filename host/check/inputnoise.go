package check

import (
	"errors"
	"fmt"

	"psafe/host/check/record"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// noised is the posterior with the noise of its inputs that the record names; path is that of the inputs.
func (f *files) noised(r *record.Record, path string, post *posterior.Posterior) (*posterior.Posterior, error) {
	if r.InputNoise == "" {
		return post, sameFile("input_noise", "", r.InputNoiseSHA)
	}
	if r.Norm != "" {
		return nil, errors.New("norm: with input_noise T is a box")
	}
	shape := post.Input.Shape
	if r.Eps != "" || r.Template != "" {
		points, err := f.pointsOf(r, path, post)
		if err != nil {
			return nil, err
		}
		shape = shapeOf(points, post)
	}
	norm, err := f.normOf(r, post, shape)
	if err != nil {
		return nil, err
	}
	if err := there(property.VectorFile(r.InputNoise), ""); err != nil {
		return nil, err
	}
	noise, err := property.ReadInputNoise(r.InputNoise, norm, post.Inputs())
	if err != nil {
		return nil, fmt.Errorf("input_noise: %w", err)
	}
	if err := sameFile("input_noise", noise.SHA256, r.InputNoiseSHA); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%q %x %x", append([]string{"input noise", r.PosteriorSHA256, r.PosteriorScale, r.Predictive, r.PosteriorSD, r.PosteriorSDSHA}, r.Activations...), noise.Lo, noise.Hi)
	p, err := kept(f, &f.posteriors, key, func() (*posterior.Posterior, error) { return post.WithInputNoise(noise.Lo, noise.Hi) })
	if err != nil {
		return nil, fmt.Errorf("input_noise: %w", err)
	}
	return p, nil
}

// shapeOf is the shape of points, as far as it is known.
func shapeOf(points *property.Points, post *posterior.Posterior) []int {
	if len(points.Shape) < 2 {
		return post.Input.Shape
	}
	return points.Shape
}
