resource "terraform_data" "u" {
  input = "c"
}
resource "lab_thing" "t" {
  name = "t"
  rule {
    port = 2
    cidr = terraform_data.u.output
  }
  rule {
    port = 1
    cidr = terraform_data.u.output
  }
  step {
    command = terraform_data.u.id
  }
  replicas = [{ zone = terraform_data.u.output }, { zone = "a" }, { zone = "b", weight = 2 }]
  limits   = { cpu = 1 }
}
