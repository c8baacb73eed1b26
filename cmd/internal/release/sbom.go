package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// readNotices reads the licences of modules out of the tables of the notices: | module | version | licence | …
func readNotices(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) > 4 && strings.Contains(cells[1], ".") {
			out[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[3])
		}
	}
	return out, nil
}

// parseGraph reads the output of go mod graph: which module needs which, versions left out, since a binary has one of each.
func parseGraph(b []byte) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		from, _, _ = strings.Cut(from, "@")
		to, _, _ = strings.Cut(to, "@")
		if from != to && !slices.Contains(out[from], to) {
			out[from] = append(out[from], to)
		}
	}
	return out
}

type object = map[string]any

// licenceOf turns what the notices say into SPDX: an identifier, or an expression where several hold. Remarks in brackets are left out.
func licenceOf(text string) []object {
	text, _, _ = strings.Cut(text, " (")
	if strings.Contains(text, " and ") {
		return []object{{"expression": strings.ReplaceAll(text, " and ", " AND ")}}
	}
	return []object{{"license": object{"id": text}}}
}

// billOfMaterials is the CycloneDX document of a binary: the modules that are linked into it, with versions, hashes of go.sum and licences, and which needs which. It has no
// time and no random number, so that the same binary has the same document.
func billOfMaterials(name string, binary []byte, graph map[string][]string, licences map[string]string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	sum := digest(binary)
	root := "pkg:generic/" + name
	refs := map[string]string{info.Main.Path: root}
	version := strings.TrimPrefix(info.GoVersion, "go")
	components := []object{{"type": "library", "bom-ref": "pkg:golang/std@" + version, "name": "std", "version": version, "purl": "pkg:golang/std@" + version,
		"licenses": licenceOf("BSD-3-Clause")}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		ref := "pkg:golang/" + d.Path + "@" + d.Version
		refs[d.Path] = ref
		c := object{"type": "library", "bom-ref": ref, "name": d.Path, "version": d.Version, "purl": ref}
		if d.Sum != "" {
			c["properties"] = []object{{"name": "go.sum", "value": d.Sum}}
		}
		licence, ok := licences[d.Path]
		if !ok {
			return nil, fmt.Errorf("THIRD_PARTY_NOTICES.md does not name %s, which is linked", d.Path)
		}
		c["licenses"] = licenceOf(licence)
		components = append(components, c)
	}
	var depends []object
	for _, path := range keys(refs) {
		on := []string{}
		for _, to := range graph[path] {
			if r, ok := refs[to]; ok {
				on = append(on, r)
			}
		}
		slices.Sort(on)
		depends = append(depends, object{"ref": refs[path], "dependsOn": on})
	}
	main := object{"type": "application", "bom-ref": root, "name": name, "version": info.Main.Version, "hashes": []object{{"alg": "SHA-256", "content": sum}}}
	var settings []object
	for _, s := range info.Settings {
		settings = append(settings, object{"name": "go.build." + s.Key, "value": s.Value})
	}
	main["properties"] = settings
	doc := object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		// A name-based number: the digest, with version and variant as RFC 9562 wants them for such.
		"serialNumber": fmt.Sprintf("urn:uuid:%s-%s-8%s-8%s-%s", sum[:8], sum[8:12], sum[13:16], sum[17:20], sum[20:32]),
		"metadata":     object{"component": main},
		"components":   components, "dependencies": depends,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(doc)
	return b.Bytes(), err
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
