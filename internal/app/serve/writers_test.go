package serve

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Why a write is not one over that of another replica. What onlyTheLeader says of a client
// is shown by the test TestOnlyWhoLeadsWrites, here or beside what writes.
const (
	onlyTheLeader = "sent by a client that leader.Only made"
	theLease      = "it is how replicas agree who leads"
	itsOwn        = "it is the object of this replica"
	asRead        = "bound to the version that was read"
	byHand        = "somebody has it written, by sallyport doctor --repair"
	nothing       = "a review or a dry run, which changes nothing"
)

// writers are all that writes to an API server: the folder below internal, the function,
// and what it writes by, with why no two replicas write one over the other.
var writers = map[string]string{
	"controller/clusters Informer.write i.client":             onlyTheLeader,
	"controller/policyserver Controller.deploy c.client":      onlyTheLeader,
	"controller/policyserver Controller.make c.client":        onlyTheLeader,
	"controller/policyserver Controller.put c.client":         onlyTheLeader,
	"controller/policyserver Controller.remove c.client":      onlyTheLeader,
	"controller/policyserver Controller.setStatus c.client":   onlyTheLeader,
	"controller/policyserver Controller.tryTakeDown c.client": onlyTheLeader,
	"controller/scan Live.Write l.reports":                    onlyTheLeader,
	"controller/scan Live.removeOthers l.reports":             onlyTheLeader,
	"controller/shipped changing.update m.client":             onlyTheLeader,
	"controller/shipped judging.update j.client":              onlyTheLeader,
	"controller/webhooks door.apply to":                       onlyTheLeader,
	"controller/workflow Controller.annotate c.direct":        onlyTheLeader,
	"controller/workflow Controller.approveOne c.client":      onlyTheLeader,
	"controller/workflow Controller.evict c.direct":           onlyTheLeader,
	"controller/workflow Controller.remove c.client":          onlyTheLeader,
	"controller/workflow Controller.write c.client":           onlyTheLeader,
	"controller/workflow Controller.writeSession c.client":    onlyTheLeader,

	"controller/policies Status.write writer.Status": onlyTheLeader + ", or in the name of what others say beside it",
	"controller/policies takeAway writer.Status":     onlyTheLeader + ", or in the name of what others say beside it",

	"controller/leader lock.Create l.Interface": theLease,
	"controller/leader lock.Update l.Interface": theLease,

	"controller/replicas Replicas.leave r.Client":   itsOwn,
	"controller/replicas Replicas.save leases":      itsOwn,
	"controller/replicas Replicas.refresh r.Client": asRead,
	"controller/certificate look.write l.Client":    asRead,

	"controller/certificate Bundles.patch api.ValidatingWebhookConfigurations": asRead,
	"controller/certificate Bundles.patch api.MutatingWebhookConfigurations":   asRead,

	"controller/doctor Plan judging":            byHand,
	"controller/doctor Plan changing":           byHand,
	"controller/doctor looking.may l.API":       nothing,
	"controller/doctor looking.ownRights l.API": nothing,
	"controller/doctor looking.reach l.API":     nothing,

	"controller/workflow Controller.addSessionUses c.counts": asRead,
	"controller/workflow Controller.addUses c.counts":        asRead,
	"controller/policyserver Reporter.reportOne r.Client":    asRead,

	"app/serve ownAccount.names o.client":               nothing,
	"controller/policyserver Controller.lacks c.client": nothing,
	"controller/policyserver Exceptions.lacks e.Client": nothing,
	"controller/reached Authorizer.send a.Client":       nothing,
	"controller/reached Canary.Send c.Client":           nothing,
}

// changing are the methods of clients that write.
var changing = map[string]bool{
	"Create": true, "Update": true, "UpdateStatus": true, "Patch": true, "Apply": true, "ApplyStatus": true,
	"Delete": true, "DeleteAllOf": true, "DeleteCollection": true, "Evict": true, "EvictV1": true, "UpdateApproval": true,
}

// TestEveryWriterIsHeldBack finds what writes to an API server and was not thought about:
// a replica that stood still may send it long after another leads.
func TestEveryWriterIsHeldBack(t *testing.T) {
	found := map[string]token.Position{}
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil || strings.HasPrefix(folder, "cli") {
			// Commands run once, for whoever calls them.
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			function, is := declared.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				if by, is := writes(n); is {
					found[filepath.ToSlash(folder)+" "+named(function)+" "+by] = files.Position(n.Pos())
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, writer := range slices.Sorted(maps.Keys(found)) {
		if writers[writer] == "" {
			t.Errorf("%s: %q writes; send it by a client that leader.Only made, if one replica is to write it, and say here why no two do", found[writer], writer)
		}
	}
	for writer := range writers {
		if _, there := found[writer]; !there {
			t.Errorf("%q writes no more; take it out of the list", writer)
		}
	}
}

// writes reports whether a node is a call that writes to an API server, and by what.
func writes(n ast.Node) (by string, is bool) {
	call, is := n.(*ast.CallExpr)
	if !is || len(call.Args) < 2 {
		return "", false
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || !changing[method.Sel.Name] {
		return "", false
	}
	if first, is := call.Args[0].(*ast.Ident); !is || first.Name != "ctx" {
		return "", false
	}
	return shownAs(method.X), true
}

// shownAs is an expression without what is called on it: c.client of c.client.Status().
func shownAs(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.CallExpr:
		if inner, is := x.Fun.(*ast.SelectorExpr); is {
			if _, called := inner.X.(*ast.Ident); !called {
				return shownAs(inner.X)
			}
			return shownAs(inner)
		}
	case *ast.SelectorExpr:
		return shownAs(x.X) + "." + x.Sel.Name
	}
	return fmt.Sprintf("%T", x)
}

// named is a function with the type that it is a method of.
func named(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	of := function.Recv.List[0].Type
	if star, is := of.(*ast.StarExpr); is {
		of = star.X
	}
	return shownAs(of) + "." + function.Name.Name
}
