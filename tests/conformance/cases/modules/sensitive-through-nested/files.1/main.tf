module "outer" {
  source = "./outer"
  secret = "s3cret"
}
output "pair" {
  value     = module.outer.pair
  sensitive = true
}
output "length" {
  value = nonsensitive(length(module.outer.secret))
}
