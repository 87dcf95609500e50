variable "old" {
  default    = "x"
  deprecated = "Use new."
}
module "m" {
  source = "./m"
}
output "o" {
  value = module.m.old
}
