// Events of one reading, in an order.
//
// A server that switches often makes thousands of events between two readings, nearly all of them
// switches, wake-ups and visits. These are kept as small as they are, and not as large as a sample:
// what is read and written at each tick goes through the caches of the program that is watched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "controller/perf/events.h"

namespace causalctl::perf {

class EventBatch {
 public:
  EventBatch() = default;
  EventBatch(std::vector<Event> events) : others_(std::move(events)) {  // in their order
    for (const Event& event : others_) add_key(time_of(event), Store::others, keys_.size());
  }

  template <typename Each>  // of those that an Event can be
  void push(Each event) {
    const Nanoseconds time_ns = event.time_ns;
    if constexpr (std::is_same_v<Each, SwitchEvent>) {
      add_key(time_ns, Store::switches, switches_.size());
      switches_.push_back(event);
    } else if constexpr (std::is_same_v<Each, WakeEvent>) {
      add_key(time_ns, Store::wakes, wakes_.size());
      wakes_.push_back(event);
    } else if constexpr (std::is_same_v<Each, VisitEvent>) {
      add_key(time_ns, Store::visits, visits_.size());
      visits_.push_back(event);
    } else {
      add_key(time_ns, Store::others, others_.size());
      others_.emplace_back(std::in_place_type<Each>, std::move(event));
    }
  }

  // By time; what came first is first of those of the same time.
  void sort() { std::sort(keys_.begin(), keys_.end()); }
  // Takes out those that are later. REQUIRES: sorted.
  EventBatch take_later_than(Nanoseconds time_ns);

  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }

  // An event lives until the iterator moves on.
  // Drops those for which drop(const Event&) is true.
  template <typename Drop>
  void drop_if(Drop&& drop) {
    Event small{SwitchEvent()};
    std::erase_if(keys_, [&](const Key& key) { return drop(at(key, small)); });
  }

  template <typename Use>  // use(SampleEvent&), which leaves the time as it is
  void complete_samples(Use&& use) {
    for (const Key& key : keys_) {
      if (static_cast<Store>(key.store) != Store::others) continue;
      if (auto* sample = std::get_if<SampleEvent>(&others_[key.place])) use(*sample);
    }
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Event;
    using difference_type = std::ptrdiff_t;
    using pointer = const Event*;
    using reference = const Event&;

    Iterator(const EventBatch& batch, std::size_t at) : batch_(&batch), at_(at) {}
    reference operator*() const { return batch_->at(batch_->keys_[at_], small_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*batch_, at_ + 1)); }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const EventBatch* batch_;
    std::size_t at_;
    mutable Event small_{SwitchEvent()};
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, keys_.size()}; }

 private:
  enum class Store : std::uint8_t { switches, wakes, visits, others };
  struct Key {
    Nanoseconds time_ns;
    std::uint32_t arrival;
    std::uint32_t store : 2, place : 30;
    bool operator<(const Key& other) const {
      return time_ns != other.time_ns ? time_ns < other.time_ns : arrival < other.arrival;
    }
  };

  void add_key(Nanoseconds time_ns, Store store, std::size_t place) {
    constexpr std::uint32_t kPlaces = (1U << 30U) - 1;
    keys_.push_back({time_ns, static_cast<std::uint32_t>(keys_.size()),
                     static_cast<std::uint32_t>(store) & 3U,
                     static_cast<std::uint32_t>(place) & kPlaces});
  }
  // `small` has the event if it is kept as something smaller.
  const Event& at(const Key& key, Event& small) const {
    switch (static_cast<Store>(key.store)) {
      case Store::switches:
        small = switches_[key.place];
        return small;
      case Store::wakes:
        small = wakes_[key.place];
        return small;
      case Store::visits:
        small = visits_[key.place];
        return small;
      case Store::others:
        break;
    }
    return others_[key.place];
  }

  std::vector<Key> keys_;
  std::vector<SwitchEvent> switches_;
  std::vector<WakeEvent> wakes_;
  std::vector<VisitEvent> visits_;
  std::vector<Event> others_;
};

inline EventBatch EventBatch::take_later_than(Nanoseconds time_ns) {
  const auto later =
      std::upper_bound(keys_.begin(), keys_.end(), time_ns,
                       [](Nanoseconds least_ns, const Key& key) { return least_ns < key.time_ns; });
  EventBatch taken;
  for (auto key = later; key != keys_.end(); ++key) {
    switch (static_cast<Store>(key->store)) {
      case Store::switches:
        taken.push(switches_[key->place]);
        break;
      case Store::wakes:
        taken.push(wakes_[key->place]);
        break;
      case Store::visits:
        taken.push(visits_[key->place]);
        break;
      case Store::others:
        std::visit([&](auto& each) { taken.push(std::move(each)); }, others_[key->place]);
        break;
    }
  }
  keys_.erase(later, keys_.end());
  return taken;
}

}  // namespace causalctl::perf
