package projectimage

import (
	"slices"

	"ringfence.dev/ringfence/internal/file/settings"
)

// building are members by which a devcontainer.json says that its image has yet to be made.
var building = []string{"build", "dockerFile", "dockerComposeFile"}

// harmless are members that only name or describe.
var harmless = []string{"image", "name", "$schema"}

// devcontainer reads a devcontainer.json. Of it `image` counts alone: what else it says is
// for those who start a container with rights, mounts and commands of the project's choice.
func devcontainer(text []byte) Image {
	doc, err := settings.Rules{Comments: true, OneReading: true, Once: true, Depth: 32, Nodes: 8192}.JSON(text)
	if err != nil {
		return Image{Why: "it cannot be read: " + err.Error()}
	}
	if doc.Kind != settings.Object {
		return Image{Why: "it is no object of JSON"}
	}
	var out Image
	for _, m := range doc.Members() {
		switch {
		case slices.Contains(building, m.Name):
			out.Builds = true
		case !slices.Contains(harmless, m.Name):
			out.Unused = append(out.Unused, m.Name)
		}
	}
	named := doc.Get("image")
	switch {
	case named != nil && out.Builds:
		return Image{Why: "it names an image, and builds one"}
	case out.Builds:
		return Image{Why: builds, Builds: true}
	case named == nil:
		return Image{Why: "it has no `image`"}
	case named.Str() == "":
		return Image{Why: "its `image` is not a name"}
	}
	out.Name, out.Line = named.Str(), named.Line
	return out
}

// builds is why a file names no image that an engine would have.
const builds = "it says how to build an image, and ringfence builds none: build it yourself (docker build -t NAME .), and say --image NAME"
