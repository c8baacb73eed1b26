package arg

// RouteFunc turns router logits into weights.
type RouteFunc uint8

// See format.RouteParams.
const (
	RouteSoftmax       RouteFunc = 1 // softmax over all experts, then top-k
	RouteSoftmaxChosen RouteFunc = 2 // top-k of the logits, softmax over the chosen
	RouteSigmoid       RouteFunc = 3 // sigmoid of each, then top-k
)

// RouteArgs says how experts are chosen for a row.
type RouteArgs struct {
	Func              RouteFunc
	Experts, Top      int
	Bias              []float32 // added for the choice only; nil: none
	Renormalise       bool
	MinSum, Scale     float32
	Groups, TopGroups int // Groups ≤ 1: none
}
