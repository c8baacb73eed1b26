package main

// morePrompts are other prompts than those of the stored references: of several kinds and lengths, so that no habit of one text decides.
var morePrompts = []string{
	"Once upon a time there was a small robot who",
	"def fibonacci(n):\n    \"\"\"Return the n-th number.\"\"\"\n",
	"Q: Why is the sky blue?\nA:",
	"1, 1, 2, 3, 5, 8, 13,",
	"Die Katze sitzt auf dem Dach und schaut",
	"{\"name\": \"Ada\", \"born\": 1815, \"known_for\": [\"",
	"A river begins where rain and melting snow gather in the hills. At first it is only a thread of water between stones, cold and quick, and nothing in " +
		"it stays still for long. Lower down the slope grows gentler, other streams join, and the water slows and turns brown with the earth that it carries. " +
		"Villages stand on its banks because people need to drink, to wash, to water their fields and to move heavy things from one place to another. In the plain it wanders " +
		"from side to side, leaves a lake where it used to bend, and drops sand wherever the current is too weak to hold it. By the time it meets the sea it has",
	"- milk\n- bread\n- eggs\n\nTotal items:",
}
