resource "lab_thing" "a" { name = "a" }
variable "decl" { default = "dd" }
output "r" { value = lab_thing.a.region }
