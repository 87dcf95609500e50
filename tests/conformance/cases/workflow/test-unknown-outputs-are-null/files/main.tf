variable "n" { default = "n" }
resource "lab_thing" "a" { name = var.n }
module "m" {
  source = "./m"
  i = lab_thing.a.id
}
output "mixed" { value = { id = lab_thing.a.id, name = lab_thing.a.name, list = [lab_thing.a.id, 1] } }
output "sens" { 
  value = lab_thing.a.id
  sensitive = true
}
output "m" { value = module.m.o }
output "str" { value = "x-${lab_thing.a.id}" }
