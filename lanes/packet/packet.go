package packet

import (
	"path"

	"ferrox/lanes"
)

// Names of the files that make up a packet.
const (
	PromptName  = "PROMPT.md"
	StatusName  = "STATUS.md"
	DoneName    = ".DONE"
	ReviewsName = ".reviews"
)

// Files is a packet folder as the caller found it.
type Files struct {
	Dir       string // the folder, slash-separated, relative to the repository root
	Prompt    []byte
	HasPrompt bool
	Status    []byte
	HasStatus bool
	Done      []byte
	HasDone   bool
	Reviews   map[string][]byte // name inside .reviews/ to body; a nil body means that the file could not be read
	Others    []string          // names of everything else in the folder
}

// Size is the estimate that a packet gives of itself.
type Size string

// The sizes; M is the default.
const (
	SizeS Size = "S"
	SizeM Size = "M"
	SizeL Size = "L"
)

// Packet is what a packet says. It is as complete as the files allow, also when there are problems.
type Packet struct {
	Dir           string // as in Files
	ID            lanes.TaskID
	Title         string
	Size          Size
	ReviewLevel   int  // 0 to 3; 0 unless LevelDeclared, and the caller applies its default
	LevelDeclared bool // PROMPT.md has a review level that could be read
	DependsOn     []Dependency
	Scope         Scope
	Repo          string // target repository as named by the packet; "" when it names none
	Steps         []Step // of PROMPT.md, in the order of the file
	Status        Status
	Gates         []Gate   // sorted by name
	Done          bool     // .DONE exists; nothing is said about whether that is justified
	Segments      bool     // the packet wants to run in segments, which ferrox does not do
	Others        []string // as in Files
}

// Dependency is one entry of the Dependencies section.
type Dependency struct {
	ID      lanes.TaskID // without the area
	Area    string       // "web-area" of "web-area/TP-1"; "" when there is none
	Written string       // the entry as the packet has it, area included
	File    string
	Line    int
}

// Scope is the File Scope section.
type Scope struct {
	Declared bool     // the section exists; without it the task is unrestricted
	Entries  []string // paths and globs as written, relative to the repository root
}

// Needs returns the ids that the packet depends on, in the order of the file and without doubles.
func (p Packet) Needs() []lanes.TaskID {
	ids := make([]lanes.TaskID, 0, len(p.DependsOn))
	for _, d := range p.DependsOn {
		ids = append(ids, d.ID)
	}
	return ids
}

// Facts returns the latest verdict of each gate in the form that a task keeps.
func (p Packet) Facts() []lanes.GateFact {
	facts := make([]lanes.GateFact, 0, len(p.Gates))
	for _, g := range p.Gates {
		facts = append(facts, lanes.GateFact{Gate: g.Name, Verdict: g.Verdict, File: g.File, Readable: !g.Unreadable})
	}
	return facts
}

// Parse reads a packet. The packet can be run when no problem is an error.
func Parse(f Files) (Packet, []Problem) {
	p := Packet{Dir: f.Dir, Size: SizeM, Done: f.HasDone, Others: f.Others}
	problems := p.readPrompt(f)

	if f.HasStatus {
		status, found := ReadStatus(path.Join(f.Dir, StatusName), f.Status)
		p.Status = status
		problems = append(problems, found...)
	}

	gates, found := ReadReviews(path.Join(f.Dir, ReviewsName), f.Reviews)
	p.Gates = gates
	return p, append(problems, found...)
}

// readPrompt fills in everything that PROMPT.md and the folder's name say.
func (p *Packet) readPrompt(f Files) []Problem {
	file := path.Join(f.Dir, PromptName)
	if !f.HasPrompt {
		p.ID = folderID(path.Base(f.Dir))
		return []Problem{failure(CodePromptMissing, file, 0, "reading the packet: there is no PROMPT.md; write one or move the folder out of the task root")}
	}

	doc, problems := readDocument(file, f.Prompt)
	for _, read := range []func(document) []Problem{
		p.readTitle, p.readSize, p.readLevel, p.readDependencies, p.readScope, p.readRepo, p.readSteps, p.readSegments,
	} {
		problems = append(problems, read(doc)...)
	}
	return problems
}
