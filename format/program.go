package format

// Program is the lowered model: a flat list of operations over named buffers. It says everything the runtime needs to execute the model and nothing
// about where the model came from. It is untrusted input: package format/check proves it before it runs.
type Program struct {
	_ struct{} `cbor:",toarray"`

	Vocab   uint32 // logits per row; token ids are < Vocab
	Context uint32 // trained context length, informative (positions beyond it are allowed)
	Embed   uint32 // width of the hidden state

	Buffers []Buffer
	States  []State
	Ropes   []Rope
	Ops     []Op
	Logits  uint32 // buffer that holds the selected rows' results at the end: float32[Vocab] logits, or float32[Embed], or scores, where Output says so

	// Sizes of the three regions of the arena, in bytes; PerRow is multiplied by the batch size.
	PerRow, Fixed, PerWorker uint64

	Output uint8 // what the results are
}

// What a program's results are. All but logits and scores are hidden states, of which a text's embedding is made.
const (
	OutputLogits uint8 = 0
	OutputMean   uint8 = 1 // the embedding is their mean
	OutputFirst  uint8 = 2 // that of the first token
	OutputLast   uint8 = 3 // that of the last
	OutputEach   uint8 = 4 // one for each token
	// A text's scores, as many as there are labels, stand in the row of its first or of its last token.
	OutputScoreFirst uint8 = 5
	OutputScoreLast  uint8 = 6
)

// VocabularyOnly reports whether the container holds a vocabulary and no model: its program has no operations, and only its tokenizer can be used.
func (p *Program) VocabularyOnly() bool { return len(p.Ops) == 0 }

// ElemType is the type of a buffer's elements.
type ElemType uint8

const (
	ElemF32   ElemType = 1 // float32
	ElemQ8X   ElemType = 2 // quantised activations, 48 bytes per 32 elements
	ElemQ8X2  ElemType = 4 // two rows of quantised activations: of the values, and of what rounding left of them, each padded to 64 bytes
	ElemRoute ElemType = 3 // chosen experts: per row Len pairs of (int32 id, float32 weight)
)

// Region is the part of the arena that a buffer lies in.
type Region uint8

const (
	RegionPerRow    Region = 1 // one instance per row of the batch: address = base + B·Offset + row·stride, B = batch capacity
	RegionFixed     Region = 2 // one instance
	RegionPerWorker Region = 3 // one instance per worker
)

// Buffer is a typed range of the arena. Len counts elements per instance; its size in bytes is rounded up to a multiple of 64, so that a kernel that
// writes whole vectors stays inside. Offset is in bytes, a multiple of 64; two buffers may share bytes when their live ranges do not meet.
type Buffer struct {
	_ struct{} `cbor:",toarray"`

	Name   string
	Type   ElemType
	Region Region
	Len    uint32
	Offset uint64
}

// StateKind says what a state holds.
type StateKind uint8

const (
	StateKV        StateKind = 1 // keys and values of one layer, in pages of KVChunk absolute positions, IEEE half
	StateRecurrent StateKind = 2 // KVHeads × KeyDim × ValDim float32, zero at position 0, changed by every position in order; Window is 0
)

// State is memory that lives as long as a session. The session may be saved, forked or cut from this description alone.
type State struct {
	_ struct{} `cbor:",toarray"`

	Kind    StateKind
	KVHeads uint32
	KeyDim  uint32 // per head
	ValDim  uint32
	Window  uint32 // positions visible to a query, itself included; 0: all
}

// Rope is a table of rotation frequencies. Angles are position × Freqs[i] in float64.
type Rope struct {
	_ struct{} `cbor:",toarray"`

	Freqs  []float64 // radians per position, one per rotated pair
	MScale float32   // multiplies cos and sin (YaRN attention factor), else 1

	// Long, where it is not empty, takes the place of Freqs for all positions in a program that is run with room for more than LongFrom positions in a session.
	Long     []float64
	LongFrom uint32
}

// OpKind names an operation. Numbers are for ever.
type OpKind uint16

const (
	OpRows       OpKind = 1  // row lookup: token embedding
	OpNorm       OpKind = 2  // RMS or layer norm, over the whole row or per head
	OpQuantize   OpKind = 3  // float32 → Q8X
	OpMatMul     OpKind = 4  // one or more matrices sharing one input
	OpRope       OpKind = 5  // rotary embedding in place
	OpKVAppend   OpKind = 6  // store keys and values of the batch
	OpAttention  OpKind = 7  // attention over a KV state
	OpActivation OpKind = 8  // gated or plain activation
	OpElement    OpKind = 9  // element-wise arithmetic
	OpSelect     OpKind = 10 // keep the marked rows only; later operations see the selected rows
	OpRoute      OpKind = 11 // choose experts
	OpExperts    OpKind = 12 // gated feed-forward of the chosen experts
	OpSoftCap    OpKind = 13 // cap·tanh(x/cap)
	OpSlice      OpKind = 14 // a range of every group of elements
	OpTemper     OpKind = 15 // factor that depends on the position
	OpConv       OpKind = 16 // short convolution over positions, with state
	OpScan       OpKind = 17 // selective scan, with state
	OpDelta      OpKind = 18 // gated delta rule, with state
	OpHeadMatMul OpKind = 19 // a matrix for each head
	OpJoin       OpKind = 20 // groups of two buffers one behind the other
	OpMix        OpKind = 21 // sums of runs with weights
	OpAffine     OpKind = 22 // product with a vector, and sum
	OpWKV        OpKind = 23 // RWKV's seventh state update, with state
	OpPosition   OpKind = 24 // numbers that depend on the position alone
	OpXIELU      OpKind = 25 // an activation with parameters
	OpRetain     OpKind = 26 // linear attention whose memory decays, with state
)

// None (JNS-1) marks an absent buffer, tensor or table in an operand.
const None = ^uint32(0)

// Op is one operation. Which fields are used, and what they must be, is a matter of its Kind (see the Params types); Params is one of those.
type Op struct {
	Kind    OpKind
	Version uint16
	Params  Params
}

// Params is the operand list of one kind of operation.
type Params interface{ Kind() OpKind }

// Operands are indices: B… of Program.Buffers, W… of the container's tensor table, S… of Program.States, R… of Program.Ropes.

// What chooses the row of a table.
const (
	ByToken    uint8 = 0 // the row's token
	ByPosition uint8 = 1 // its position; positions from the table's end on are an error of the request
	ByNothing  uint8 = 2 // always row 0
)

// RowsParams: Out[row] = Scale · row(token) of table W (float32[cols of W]).
type RowsParams struct {
	_ struct{} `cbor:",toarray"`

	Out   uint32
	W     uint32
	Scale float32
	By    uint8
}

// Norm kinds.
const (
	NormRMS   uint8 = 1
	NormLayer uint8 = 2
	NormL2    uint8 = 3 // x / √(Σx² + Eps); no weight, no bias
	NormNone  uint8 = 4 // x: only weight and bias are applied
)

// NormParams: the In row is Groups vectors of equal length, each normed on its own; W (and Bias) have that length, or Groups × that length when WPerGroup. Out may be In.
// Q, if not None, gets the result quantised as well (Out may then be None).
type NormParams struct {
	_ struct{} `cbor:",toarray"`

	Norm      uint8
	In, Out   uint32
	Q         uint32
	W, Bias   uint32 // float32 vectors; None: 1, 0
	Groups    uint32
	WPerGroup bool
	Eps       float32
}

// QuantizeParams: Out (Q8X or Q8X2) = In (float32), equal lengths, multiple of 32.
type QuantizeParams struct {
	_ struct{} `cbor:",toarray"`

	In, Out uint32
}

// MatMulParams: for each part, Out = (W·In + Bias)·Scale [+ Residual], or W·In·Scale + Bias [+ Residual]. In is Q8X or Q8X2 for quantised matrices, float32 for float ones (F32, F16, BF16).
type MatMulParams struct {
	_ struct{} `cbor:",toarray"`

	In    uint32
	Parts []MatMulPart
}

// MatMulPart is one matrix of a MatMul, or a range of its rows.
type MatMulPart struct {
	_ struct{} `cbor:",toarray"`

	W        uint32
	Bias     uint32 // float32 vector, or None: of the part's rows, or of all rows of W, of which those of the part are used
	Out      uint32 // float32[rows of the part]
	Residual uint32 // float32 buffer of the same length, added last; may be Out; or None
	Scale    float32
	// Fine: In is Q8X2 and both its rows are used, Out = (W·first + W·second + Bias)·Scale [+ Residual]: the rounding of activations then has no part in the error. Where
	// In is Q8X2 and Fine is false, only the first row is used.
	Fine bool
	// The part is rows From … From+Rows-1 of W, From a multiple of the rows of its tiles; Rows 0: all of W.
	From, Rows uint32
	BiasLast   bool // Bias is added after Scale
}

// RopeParams rotates Heads heads of HeadDim elements, the first 2·len(Freqs) of each.
type RopeParams struct {
	_ struct{} `cbor:",toarray"`

	X       uint32 // in place
	Table   uint32
	Heads   uint32
	HeadDim uint32
	NeoX    bool // pairs (i, i+n/2); else (2i, 2i+1)
}

// KVAppendParams stores K and V rows of the batch at their positions.
type KVAppendParams struct {
	_ struct{} `cbor:",toarray"`

	K, V, State uint32
}

// AttentionParams: Out[Heads×ValDim] = softmax(Scale·q·k, capped)·v over the state's visible positions ≤ the row's own. Heads is a multiple of KVHeads; head h uses KV
// head h/(Heads/KVHeads). Sinks: float32[Heads] extra logits in the denominator, or None.
type AttentionParams struct {
	_ struct{} `cbor:",toarray"`

	Q, Out  uint32
	State   uint32
	Heads   uint32
	Scale   float32
	SoftCap float32 // 0: none
	Sinks   uint32
	// All: a row sees later positions too; its session then is computed as a whole, in one batch. Reach: only those at most so far away, before and behind; 0: all.
	All   bool
	Reach uint32
	// Chunked: the state's window does not slide: a row sees positions from the last multiple of Window on.
	Chunked bool

	// Version 2, in which scores are Scale·(q·k + β), β falling with the distance d between row and position, or looked up by it. Slopes: β = −Slopes[h]·d; Bias is None. Edges: β =
	// Bias[bucket·Heads + h], a vector of Heads numbers for each bucket; the bucket is the last i with Edges[i] ≤ d, and Later + i for positions behind the row's.
	Slopes []float32
	Edges  []uint32 // ascending from 0
	Later  uint32   // 0 or len(Edges): there are as many buckets again
	Bias   uint32

	// Version 3. Most > 0: rows at positions from Most on are an error of the request, as what chooses among more positions than so many is not part of the program.
	Most uint32
}

// Activation functions.
const (
	ActSiLU      uint8 = 1
	ActGELU      uint8 = 2
	ActGELUErf   uint8 = 3
	ActReLU      uint8 = 4
	ActReLU2     uint8 = 5
	ActGELUQuick uint8 = 6
	ActNone      uint8 = 7 // the identity
	ActSigmoid   uint8 = 8
	ActSwigluOAI uint8 = 9  // of g = min(Gate, 7) and u = Up within ±7: g·sigmoid(1.702·g)·(u + 1); needs Up
	ActSoftplus  uint8 = 10 // ln(1 + e^x)
	ActTanh      uint8 = 11
)

// ActivationParams: Out = act(Gate)·Up (Up None: act(Gate)); Q, if not None, gets it quantised (Out may then be None).
type ActivationParams struct {
	_ struct{} `cbor:",toarray"`

	Act      uint8
	Gate, Up uint32
	Out, Q   uint32
}

// Element-wise kinds.
const (
	ElementAdd   uint8 = 1 // Out = A + B·Scale
	ElementScale uint8 = 2 // Out = A·Scale
	ElementMul   uint8 = 3 // Out = A·B
	// Out = A·B where B has fewer elements: element j of B is for the j-th of len(B) equal runs of A. Out may be A only.
	ElementSpread uint8 = 4
	// Out = A·(‖B‖ / ‖A‖), for every run of A as long as B; 0 where ‖A‖ is.
	ElementRescale uint8 = 5
	// Out = max(0, A − mean(A) − Scale·σ), σ² = Σ(A − mean)²/(n−1); at least two elements.
	ElementCutoff uint8 = 6
	// Out[g] = Σ A·B over run g of len(A)/len(Out) elements.
	ElementDot   uint8 = 7
	ElementClamp uint8 = 8  // Out = A cut to ±Scale
	ElementMin   uint8 = 9  // Out = min(A, Scale)
	ElementDiv   uint8 = 10 // Out = A/B
	// Out = e^(A − max A) / Σ e^(A − max A), over the whole row.
	ElementSoftmax uint8 = 11
	ElementExp     uint8 = 12 // Out = e^(A·Scale)
)

// ElementParams: see the kinds. Out may be A or B.
type ElementParams struct {
	_ struct{} `cbor:",toarray"`

	Element   uint8
	A, B, Out uint32
	Scale     float32
}

// SelectParams: Out = rows of In whose logits the caller wants. After it operations run over these rows, and may use only buffers written since.
type SelectParams struct {
	_ struct{} `cbor:",toarray"`

	In, Out uint32
}

// Routing functions.
const (
	RouteSoftmax       uint8 = 1 // softmax over all experts, then top-k
	RouteSoftmaxChosen uint8 = 2 // top-k of the logits, softmax over the chosen
	RouteSigmoid       uint8 = 3 // sigmoid of each, then top-k
)

// RouteParams: chooses Top experts per row from logits In (float32[experts]); ties go to the lowest id; written in rank order. Bias is added for the choice
// only. Renormalise divides the weights by their sum (at least MinSum); Scale multiplies them. Groups > 1: only experts of the TopGroups best groups (a group's score is
// the sum of its two best) may be chosen.
type RouteParams struct {
	_ struct{} `cbor:",toarray"`

	Func        uint8
	In, Out     uint32
	Bias        uint32 // float32[experts] or None
	Experts     uint32
	Top         uint32
	Renormalise bool
	MinSum      float32
	Scale       float32
	Groups      uint32
	TopGroups   uint32

	// Version 2. Share > 1, for RouteSoftmax without groups: the experts chosen are fewer, Experts/Share, each for so many numbers: what is written is a number divided by Share, and the weight
	// that of the expert of that number.
	Share uint32
}

// ExpertsParams: Out = Residual (or 0) + Σ over the row's route in rank order of weight · Down_e(act(Gate_e·In)·(Up_e·In)). Gate, Up and Down are expert
// tensors (Count experts). In is Q8X, Q8X2 (both rows are used) or float32 as Gate needs; Hidden likewise. A row makes Top choices (of the Route buffer); the scratch buffers hold one entry per choice, so their
// Len is Top × the entry's length, the entry's length a multiple of 16 (float32), 32 (Q8X) or 128 (Q8X2) so that entries of all rows lie evenly spaced.
type ExpertsParams struct {
	_ struct{} `cbor:",toarray"`

	In, Route      uint32
	Gate, Up, Down uint32
	Act            uint8
	Out, Residual  uint32
	Gathered       uint32 // In's type, Top × len(In): inputs in expert order
	GateOut, UpOut uint32 // float32, Top × hidden
	Hidden         uint32 // float32, Q8X or Q8X2 as Down needs, Top × hidden (may be GateOut when float32)
	DownOut        uint32 // float32, Top × len(Out)

	// Factors and biases of the products, by expert: product_e·Scale[e] + Bias[e]. Vectors of Count and Count × rows elements, or None.
	GateScale, UpScale, DownScale uint32
	GateBias, UpBias, DownBias    uint32
	// Fused: Up is the same tensor as Gate, whose rows are those of the gate and then those of up. Gate None: there is no gate, act(Up_e·In); GateOut is then None too.
	Fused bool
	// WeightIn: the weight multiplies In (that is, the products of Gate and Up before their biases) instead of Down's product.
	WeightIn bool

	// Version 2. Limit > 0, which needs a gate: Up's product is cut to ±Limit, and act(Gate's) to at most Limit; where LimitIn, Gate's product is cut so before act instead.
	Limit   float32
	LimitIn bool

	// Version 3. GateCap > 0, which needs a gate and excludes Limit: the hidden value is act(Gate's)·(GateCap·tanh(Gate's/GateCap))·Up's, and where UpCap > 0, Up's is UpCap·tanh(Up's/UpCap).
	GateCap, UpCap float32
}

// SoftCapParams: X = Cap·tanh(X/Cap), in place.
type SoftCapParams struct {
	_ struct{} `cbor:",toarray"`

	X   uint32
	Cap float32
}

// SliceParams: Out takes Width elements of every Stride elements of In, the first at From: Out[g·Width+i] = In[From+g·Stride+i].
type SliceParams struct {
	_ struct{} `cbor:",toarray"`

	In, Out             uint32
	From, Width, Stride uint32 // Width divides the length of Out
}

// TemperParams: X = X·Factors[min(⌊(position + Offset)/Step⌋, last)], in place.
type TemperParams struct {
	_ struct{} `cbor:",toarray"`

	X       uint32
	Step    uint32
	Factors []float32
	Offset  uint32
}

// PositionParams: Out[i] = Base[i] + High[i]·⌊position/Step⌋ + Low[i]·(position mod Step), each product and sum rounded. All three are as long as Out.
type PositionParams struct {
	_ struct{} `cbor:",toarray"`

	Out             uint32
	Step            uint32
	Base, High, Low []float32
}

// XIELUParams: Out = AlphaP·x² + Beta·x where x = In is above 0, else AlphaN·(e^min(x, Eps) − 1 − x) + Beta·x. Out may be In.
type XIELUParams struct {
	_ struct{} `cbor:",toarray"`

	In, Out                   uint32
	AlphaN, AlphaP, Beta, Eps float32
}

// ConvParams: Out[c] = act(Σ_k W[c][k]·X_(t−Taps+1+k)[c] + Bias[c]) over the last Taps positions of a session, those before its first being 0. State holds
// the last Taps−1 inputs, oldest first: KVHeads 1, KeyDim Taps−1, ValDim channels. W is a float32 vector of channels × Taps elements, or None: then
// Taps is 2 and Out is the input before less the present one. Act: an activation or 0.
type ConvParams struct {
	_ struct{} `cbor:",toarray"`

	X, Out  uint32
	State   uint32
	W, Bias uint32
	Taps    uint32
	Act     uint8
}

// ScanParams: the selective scan. Per head h of HeadDim channels, with N numbers of state per channel and group g = h/(Heads/Groups):
//
//	δ = softplus(DT[h] + Bias[h]), S[n][p] = S[n][p]·exp(δ·A[h or h·N+n]) + (δ·X[h][p])·B[g][n], Out[h][p] = Σ_n S[n][p]·C[g][n] + D[h]·X[h][p]
//
// A is a vector of Heads, or of Heads × N where HeadDim is 1 (then Groups is 1). State: KVHeads Heads, KeyDim N, ValDim HeadDim; where HeadDim is 1: KVHeads 1, KeyDim N, ValDim Heads.
type ScanParams struct {
	_ struct{} `cbor:",toarray"`

	X, DT, B, C, Out  uint32
	State             uint32
	A, Bias, D        uint32 // vectors; Bias and D of Heads elements, or None
	Heads, HeadDim, N uint32
	Groups            uint32
}

// DeltaParams: the gated delta rule. Per head h, with key head j = h mod KeyHeads, or h/(Heads/KeyHeads) when Blocked:
//
//	γ = exp(A[h]·softplus(Alpha + Bias)), S[k][v] = S[k][v]·γ; d[v] = (V[h][v] − Σ_k S[k][v]·K[j][k])·sigmoid(Beta[h]); S[k][v] = S[k][v] + K[j][k]·d[v]
//	Out[h][v] = Σ_k S[k][v]·(Scale·Q[j][k])
//
// Alpha (and Bias) have an element per head, or one per head and k. State: KVHeads Heads, KeyDim, ValDim.
type DeltaParams struct {
	_ struct{} `cbor:",toarray"`

	Q, K, V, Alpha, Beta, Out uint32
	State                     uint32
	A, Bias                   uint32 // vectors
	Heads, KeyHeads           uint32
	KeyDim, ValDim            uint32
	Scale                     float32
	Blocked                   bool

	// Version 2. Bound ≠ 0: γ = exp(Bound·sigmoid(Rate·A[h]·(Alpha + Bias))) instead.
	Bound, Rate float32
}

// MixParams: Out is Rows runs, run i = run i of A (0 if None) + Σ_j (Coef[i·Cols+j] + Offset[i·Cols+j]) · run j of B, which has Cols runs.
type MixParams struct {
	_ struct{} `cbor:",toarray"`

	A, B, Out  uint32
	Coef       uint32 // float32[Rows·Cols], or None: 0
	Rows, Cols uint32
	Offset     []float32 // as many, or none: 0
}

// HeadMatMulParams: Out[h] = Scale · W_h·In[h], W_h being rows h·n … h·n+n-1 of W, n = len(Out)/Heads a multiple of the rows of its tiles. In is Heads × columns of W; a
// quantised In has columns that are a multiple of 32.
type HeadMatMulParams struct {
	_ struct{} `cbor:",toarray"`

	In, W, Out uint32
	Heads      uint32
	Scale      float32
	Fine       bool // In is Q8X2 and both its rows are used
}

// JoinParams: Out is Groups groups, each of a group of A and one of B. B may have a single group, which then goes into all.
type JoinParams struct {
	_ struct{} `cbor:",toarray"`

	A, B, Out uint32
	Groups    uint32
	Shared    bool // B has a single group
}

// AffineParams: Out = A·W[From …] + B. W is a vector; B may be None. Out may be B, and A where B is None.
type AffineParams struct {
	_ struct{} `cbor:",toarray"`

	A, B, Out uint32
	W         uint32
	From      uint32
}

// WKVParams: RWKV's seventh state update. Per head h, with γ_j = exp(−0.606531·sigmoid(W[h][j])):
//
//	d[i] = Σ_j A[h][j]·S[j][i], S[j][i] = S[j][i]·γ_j + K[h][j]·V[h][i] + B[h][j]·d[i], Out[h][i] = Σ_j R[h][j]·S[j][i]
//
// State: KVHeads Heads, KeyDim and ValDim Dim.
type WKVParams struct {
	_ struct{} `cbor:",toarray"`

	R, W, K, V, A, B, Out uint32
	State                 uint32
	Heads, Dim            uint32
}

// RetainParams: linear attention whose memory decays. Per head h:
//
//	S[k][v] = S[k][v]·γ[h][k] + K[h][k]·V[h][v], Out[h][v] = Σ_k S[k][v]·(Scale·Q[h][k])
//
// With First, a vector of Heads × KeyDim, the output is that of S before this position, and this position counts by First: Out[h][v] = Σ_k S[k][v]·(Scale·Q[h][k]) +
// V[h][v]·Σ_k (Scale·Q[h][k])·First[h][k]·K[h][k]. γ is Decay, or where that is None, Decays[h] for all k. State: KVHeads Heads, KeyDim, ValDim.
type RetainParams struct {
	_ struct{} `cbor:",toarray"`

	Q, K, V, Decay, Out   uint32
	State                 uint32
	First                 uint32
	Decays                []float32
	Heads, KeyDim, ValDim uint32
	Scale                 float32
}

func (*PositionParams) Kind() OpKind   { return OpPosition }
func (*XIELUParams) Kind() OpKind      { return OpXIELU }
func (*RetainParams) Kind() OpKind     { return OpRetain }
func (*AffineParams) Kind() OpKind     { return OpAffine }
func (*WKVParams) Kind() OpKind        { return OpWKV }
func (*ConvParams) Kind() OpKind       { return OpConv }
func (*ScanParams) Kind() OpKind       { return OpScan }
func (*DeltaParams) Kind() OpKind      { return OpDelta }
func (*HeadMatMulParams) Kind() OpKind { return OpHeadMatMul }
func (*JoinParams) Kind() OpKind       { return OpJoin }
func (*MixParams) Kind() OpKind        { return OpMix }
func (*RowsParams) Kind() OpKind       { return OpRows }
func (*NormParams) Kind() OpKind       { return OpNorm }
func (*QuantizeParams) Kind() OpKind   { return OpQuantize }
func (*MatMulParams) Kind() OpKind     { return OpMatMul }
func (*RopeParams) Kind() OpKind       { return OpRope }
func (*KVAppendParams) Kind() OpKind   { return OpKVAppend }
func (*AttentionParams) Kind() OpKind  { return OpAttention }
func (*ActivationParams) Kind() OpKind { return OpActivation }
func (*ElementParams) Kind() OpKind    { return OpElement }
func (*SelectParams) Kind() OpKind     { return OpSelect }
func (*RouteParams) Kind() OpKind      { return OpRoute }
func (*ExpertsParams) Kind() OpKind    { return OpExperts }
func (*SoftCapParams) Kind() OpKind    { return OpSoftCap }
func (*SliceParams) Kind() OpKind      { return OpSlice }
func (*TemperParams) Kind() OpKind     { return OpTemper }
