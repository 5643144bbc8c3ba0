package prove

// fewInputs is up to how many inputs T is cut into cells unless Config.Cells says
// otherwise: with more, halves are hardly smaller.
const fewInputs = 8
