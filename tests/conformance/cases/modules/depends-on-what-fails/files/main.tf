resource "terraform_data" "bad" {
  input = tonumber(var.s)
}
variable "s" {
  default = "s"
}
module "m" {
 source="./m"
 depends_on = [terraform_data.bad]
}
