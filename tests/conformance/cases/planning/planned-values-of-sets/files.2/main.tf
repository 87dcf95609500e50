resource "terraform_data" "u" {
  input = "c"
}
resource "lab_thing" "t" {
  name = "t"
  dynamic "rule" {
    for_each = [1, 2]
    content {
      port = rule.value
      cidr = terraform_data.u.input
    }
  }
  replicas = [{ zone = "b", weight = 2 }, { zone = "a" }]
  limits   = {}
}
