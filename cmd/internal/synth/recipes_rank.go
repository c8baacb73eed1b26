package main

import "maps"

func init() { maps.Copy(recipes, rankers) }

// rankers are recipes of models that score a query with a document.
var rankers = map[string]func(m *model){
	"bert+rank": func(m *model) {
		recipes["bert"](m)
		m.classifier(true, true, "only")
	},
	"bert+rank-labels": func(m *model) { // a single layer, as cross-encoders of other sizes have
		recipes["bert"](m)
		m.classifier(false, true, "yes", "no", "maybe")
	},
	"modern-bert+rank": func(m *model) { // of the mean, with a norm and another function
		recipes["modern-bert"](m)
		m.classifier(true, false, "only")
		m.norm("cls.norm", false)
	},
	"qwen3+rank": func(m *model) { // of the last token, with a softmax
		m.set("pooling_type", 4)
		m.sequential(special{rms: true, headNorms: true})
		m.classifier(false, false, "yes", "no")
	},
}

// classifier makes a model one that ranks: a dense layer or none, then a row for each label.
func (m *model) classifier(dense, bias bool, labels ...string) {
	m.change("pooling_type", 4)
	m.set("classifier.output_labels", labels)
	add := func(name string, rows uint32) {
		m.mat(name+".weight", 2, m.embd, rows)
		if bias {
			m.vec(name+".bias", 0, 0.3, rows)
		}
	}
	if dense {
		add("cls", m.embd)
	}
	add("cls.output", uint32(len(labels)))
}
