resource "lab_thing" "a" {
 name="a"
 size=1
}
data "lab_thing" "d" {
 name="a"
 depends_on=[lab_thing.a]
}
resource "lab_thing" "b" {
 for_each=toset(["x","y"])
 name="b${each.key}"
 size=data.lab_thing.d.size
}
output "o" { value = { for k,v in lab_thing.b : k=>v.size } }
