variable "sz" { default = 1 }
resource "lab_thing" "a" {
  name = "a"
  size = var.sz
}
module "e" {
  source = "./e"
  depends_on = [lab_thing.a]
}
ephemeral "lab_token" "r" {
  name = "r"
  depends_on = [module.e]
}
resource "lab_thing" "u" {
  name = "u"
  secret_wo = "${module.e.t}-${ephemeral.lab_token.r.token}"
  secret_wo_version = 1
}
