
module "m" {
  source = "./m"
}
variable "keys" {
  type    = map(string)
  default = { a = "x" }
}
resource "lab_thing" "t" {
  count = 2
  name  = "t${count.index}"
  zone  = module.m.old
  color = var.keys["b"]
}
resource "terraform_data" "v" {
  input            = { a = var.keys["b"] }
  triggers_replace = module.m.old
}
