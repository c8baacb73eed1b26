package format

// PreRule says how byte-pair text is cut into words before merging. The numbers stand in files and never change their meaning.
type PreRule uint32

const (
	PreNone          PreRule = iota // the whole text is one word
	PreDefault                      // punctuation, GPT-2 words, numbers, triples of digits
	PreGPT2                         // contractions, letters, numbers, the rest, white space
	PreLlama3                       // any-case contractions, numbers of up to three digits, newlines apart
	PreQwen2                        // as Llama 3 with single digits
	PreQwen35                       // as Qwen 2 with marks among the letters
	PreDigitsGPT2                   // single digits, then GPT-2
	PreFalcon                       // punctuation, GPT-2, triples of digits
	PreDeepSeekLLM                  // newlines, letters of listed scripts, punctuation, trailing space, CJK, numbers
	PreDeepSeekCoder                // newlines, letters, punctuation, CJK, single digits
	PreDeepSeekV3                   // numbers of up to three, CJK, punctuated words
	PreSpark                        // as DeepSeek V3 with single newlines and digits
	PreYoutu                        // Hangul, CJK punctuation, bopomofo, CJK, words with contractions
	PreJais2                        // as Llama 3 with white space in powers of two
	PreBloom                        // everything up to white space or sentence marks
	PreViking                       // as Bloom, then single digits
	PreTekken                       // words by letter case, single digits
	PreChameleon                    // image tokens, tabs and pairs of spaces, digits, punctuation, GPT-2
	PreGPT4o                        // words by letter case with contractions, numbers of up to three
	PreGraniteEmbed                 // as GPT-4o with marks among the letters
	PreTinyAya                      // digits in threes from the right, words with contractions
	PreKimiK2                       // Han runs, words with contractions, numbers of up to three
	PreSuperBPE                     // number runs, digits in threes from the right, nothing else
	PreSeedCoder                    // as Qwen 2, newlines never with punctuation
	PreUfakzeka                     // as Qwen 2 without contractions
	PreAFMoE                        // digits in threes from the right, Asian scripts, punctuated words
	PreLaguna                       // newline runs, then Qwen 2
	PreExaoneMoE                    // as Qwen 2 with phrases of words
	PreNewlines                     // newline runs and the rest
	PreMiniCPM5                     // numbers of up to three, then as Llama 3 with number runs
	PreWhitespace                   // runs of what is not white space
	NumPreRules
)
