package decide

// FewInputs is up to how many inputs T is cut into cells unless Config.Cells says
// otherwise: with more, halves are hardly smaller.
const FewInputs = 8
