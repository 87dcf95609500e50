variable "n" {
 default = null
}
variable "sn" {
 default = null
 sensitive = true
}
module "m" {
 source = "./m"
 v = var.sn
}
output "o" { value = module.m.o }
output "v" {
 value = module.m.v
 sensitive = true
}
