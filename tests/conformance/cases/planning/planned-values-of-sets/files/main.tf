resource "lab_thing" "t" {
  name = "t"
  rule {
    port = 1
  }
  rule {
    port = 1
  }
  rule {
    port = 2
    cidr = ""
  }
  replicas = [{ zone = "a" }, { zone = "b", weight = 2 }]
}
