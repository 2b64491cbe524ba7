package guard
import ("testing";"strings";"time")
func TestScratch(t *testing.T){
 for n,l:=range map[string]string{"paren":strings.Repeat("(",100000),"parens":strings.Repeat("(",60000)+"git merge x"+strings.Repeat(")",60000),"subst":strings.Repeat("$(",60000),"substs":strings.Repeat("echo $(",20000)+"git merge x"+strings.Repeat(")",20000),
 "brace":strings.Repeat("{a,b}",20000),"seq":strings.Repeat("x=$x$x;",5000), "seq2":"x=aa;"+strings.Repeat("x=$x$x;",5000)+"git push origin $x", "for":strings.Repeat("for i in 1 2; do ",200)+"git st"+strings.Repeat("; done",200),"many":strings.Repeat("git -C /x st;",15000),
 "vars":strings.Repeat("if a; then b=1; else b=2; fi; c=$c$b;",3000), "not":strings.Repeat("! ",100000)+"ls", "bt":strings.Repeat("{ ",50000)+"ls"+strings.Repeat(";}",50000),"and":strings.Repeat("ls && ",40000)+"git merge x", "pipe":strings.Repeat("ls | ",40000)+"git merge x","words":"git push origin "+strings.Repeat("topic ",40000), "eval":strings.Repeat("eval '",1)+strings.Repeat("git st;",30000)+"'",
 "loopvar":"for i in "+strings.Repeat("a b c d e f ",5)+"; do for j in "+strings.Repeat("a b c d e f ",5)+"; do for k in a b c d e f g h i j k l m n; do git st $i $j $k; done;done;done", "fn":"f() { f; f; }; f"}{
  s:=time.Now(); r,err:=Check(l,cwd,repo("topic")); t.Log(n,len(l),time.Since(s),len(r.Findings),err!=nil)
  if len(r.Findings)>0{t.Logf("   %+v",r.Findings[0].Why)}
 }
}
